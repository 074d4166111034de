"""Take pictures of mail and pages in three looks, two schemes and three languages.

`make looks INTO=FOLDER` runs the program as `take.py` does. Each picture
shows one look: a mail as the provider got it, its page, the sign-up page and the preferences.
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import requests

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
from letters import LETTERS, Letter  # noqa: E402
from take import PHONE, browser, choice_of_topics, running_program  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from newsletter_site.demo.start_services import Services

LOOKS = {
    "plain": {"accent": "#2f6b3a", "typeface": "modern", "header": "name"},
    "classic": {"accent": "#8c1d40", "typeface": "journal", "header": "both"},
    "picture": {"accent": "#f2b705", "typeface": "magazine", "header": "logo"},
}
LOGO = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 80">
<path fill="#8c1d40" d="M20 60 100 10l80 50h-30v15H50V60z"/>
<circle cx="100" cy="48" r="12" fill="#fff"/></svg>"""
HEIGHT = 1800  # of each part; a longer page is cut


def main() -> None:
    """Take the pictures into the folder of `--into`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, required=True, help="the folder for the pictures")
    into = parser.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    with running_program() as services, browser() as chromium:
        preferences = choice_of_topics()
        for look in LOOKS:
            for language, letter in LETTERS.items():
                show(services, look, language, letter)
                mail, page = send(services, look, letter)
                places = {"mail": mail, "archive": page, "sign-up": "/", "preferences": preferences}
                for scheme in ("light", "dark"):
                    name = f"{look}-{scheme}-{language}"
                    take(services, chromium, into, name, places)


def show(services: Services, look: str, language: str, letter: Letter) -> None:
    """Give the newsletter a look and a language."""
    from delivery.models import Newsletter
    from publishing.look.logo import store_logo

    has_logo = LOOKS[look]["header"] != "name"
    logo = store_logo(LOGO, "logo.svg", services.author.pk) if has_logo else {}
    Newsletter.objects.update(
        name=letter.newsletter,
        tagline=letter.tagline,
        language=language,
        layout=look,
        **LOOKS[look],
        **logo,
    )


def send(services: Services, look: str, letter: Letter) -> tuple[str, str]:
    """Publish the letter and wait; return the addresses of a mail and its page."""
    from delivery.models import Delivery
    from delivery.rules.edition_state import EditionState
    from publishing.content.draft_content import MARKDOWN, DraftFields, build_content
    from publishing.editions.edition_status import load_status
    from publishing.publish.publish_edition import publish

    content = build_content(
        DraftFields(
            title=letter.title,
            preview_text=letter.preview_text,
            format=MARKDOWN,
            letter=letter.text,
        )
    )
    key = f"look-{look}-{letter.newsletter}"[:40]
    edition = publish(services.author.pk, key, content, hold_s=0).edition
    while load_status(edition.pk).state in (EditionState.HELD, EditionState.SENDING):
        requests.get(f"{services.site.url}/health/live/", timeout=10)
    message = Delivery.objects.filter(batch__edition=edition, outcome="sent").earliest("pk")
    mail = f"{services.sandbox.url}/message/{message.provider_message_id}/html"
    return mail, f"/archive/{edition.issue.slug}/"


def take(
    services: Services, chromium: Browser, into: Path, name: str, places: dict[str, str]
) -> None:
    """Take each place on a phone, and put them side by side."""
    scheme = "dark" if "-dark-" in name else "light"
    window = chromium.new_context(
        base_url=services.site.url, viewport=PHONE, color_scheme=scheme, device_scale_factor=1
    )
    page = window.new_page()
    parts = []
    for place, address in places.items():
        page.goto(address)
        parts.append(into / f"{name}-{place}.png")
        page.screenshot(path=parts[-1], full_page=True, animations="disabled")
    page.set_viewport_size({"width": (PHONE["width"] + 10) * len(parts), "height": HEIGHT})
    page.goto("about:blank")
    join(page, parts, into / f"{name}.png")
    window.close()
    for part in parts:
        part.unlink()
    print(f"{name}.png")


def join(page: Page, parts: list[Path], into: Path) -> None:
    """Write one picture with the parts side by side."""
    from base64 import b64encode

    images = "".join(
        f'<img alt="{escape(part.stem)}" style="width:{PHONE["width"]}px;margin-right:10px" '
        f'src="data:image/png;base64,{b64encode(part.read_bytes()).decode()}">'
        for part in parts
    )
    page.set_content(
        f'<body style="margin:0;background:#888;display:flex;align-items:start">{images}</body>'
    )
    page.screenshot(path=into)


if __name__ == "__main__":
    main()
