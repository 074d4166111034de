"""Score the public pages with Lighthouse, and print a table (docs/testing.md).

The site has the settings of a server, a new database, and letters with photographs. nginx runs in
front of it with the configuration of deploy/nginx.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks.site.site import a_site, a_web_server  # noqa: E402
from tests.deployment.nginx_proxy import running_proxy  # noqa: E402

CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
LEAST = 95
# The public pages, each with its path. `{letter}` is the path of the newest letter.
PAGES = {"front": "/", "archive": "/archive/", "letter": "{letter}", "sign-up": "/subscriptions/"}
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# Nobody has signed the certificate of this site.
FLAGS = ("--headless", "--no-sandbox", "--disable-dev-shm-usage", "--ignore-certificate-errors")
TITLES = (
    "Seven uses for a lantern",
    "A rain gauge’s diary",
    "What the well said",
    "On the patience of herons",
    "The late apples, and whatever else the orchard had to say about a wet and windy September",
    "A storm, and what it took",
    "Swifts leave without saying goodbye",
)
WORDS = (
    "<p>For eleven weeks the sky above the tannery roof belonged to somebody else. They came on the"
    " ninth of May, nine of them and then fourteen, screaming round the chimney at supper time.</p>"
)


def main() -> int:
    """Print the scores of every page; return 1 if one is below `LEAST`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=Path, help="the folder for the full reports, as HTML")
    reports = parser.parse_args().reports
    chromium = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    npm = shutil.which("npm")
    if chromium is None or npm is None:
        sys.exit("Install npm and the package chromium-headless-shell.")
    with tempfile.TemporaryDirectory(prefix="homing-lighthouse-") as name:
        program, folder = install(npm, Path(name)), reports or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        with running_site() as (site, letter):
            scores = {
                page: score(program, chromium, f"{site}{path.format(letter=letter)}", folder / page)
                for page, path in PAGES.items()
            }
    print(f"{'':12}" + "".join(f"{category:>16}" for category in CATEGORIES))
    for page, found in scores.items():
        print(f"{page:12}" + "".join(f"{found[category]:16}" for category in CATEGORIES))
    return int(min(min(found.values()) for found in scores.values()) < LEAST)


def install(npm: str, folder: Path) -> Path:
    """Install the locked Lighthouse into the folder; return its program."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "node_modules" / ".bin" / "lighthouse"


@contextmanager
def running_site() -> Iterator[tuple[str, str]]:
    """Run a site with seven letters; yield its address and the newest letter's path."""
    with a_site() as site:
        os.environ.update(site.environment, DJANGO_SETTINGS_MODULE="newsletter_site.settings")
        import django

        django.setup()
        letter = publish_letters()
        folder = site.folder / "proxy"
        folder.mkdir()
        with (
            a_web_server(site) as address,
            running_proxy(int(address.rpartition(":")[2]), folder) as connect,
        ):
            with connect() as line:
                port = line.getpeername()[1]
            yield f"https://127.0.0.1:{port}", letter


def publish_letters() -> str:
    """Name the newsletter and publish its letters; return the newest letter's path."""
    from delivery.models import Newsletter
    from newsletter_site.models import User
    from publishing.content.edition_content import Content
    from publishing.images.store_image import in_html, store_image
    from publishing.publish.publish_edition import publish

    Newsletter.objects.get_current()
    Newsletter.objects.update(
        name="The Hedgerow Almanack",
        tagline="A letter about what lives along the lane, every Thursday",
        reply_to="letter@almanack.example",
    )
    User.objects.update(first_name="Edith", last_name="Marlow")
    author = User.objects.get()
    for number, title in enumerate(TITLES):
        images = [
            in_html(store_image(photograph(number * 2 + more), "lane.jpg", by=None), "The lane")
            for more in range((number + 2) % 3)
        ]
        body = "".join(f"<p>{image}</p>{WORDS * 4}" for image in images)
        content = Content.from_input(title=title, html=WORDS * 3 + body)
        edition = publish(author.pk, f"letter-{number}", content, hold_s=0).edition
    return f"/archive/{edition.issue.slug}/"


def photograph(seed: int) -> bytes:
    """Return a large JPEG that compresses about as well as a photograph."""
    from PIL import Image, ImageFilter

    made = random.Random(seed)
    picture = Image.new("RGB", (2400, 1600))
    for size, share in ((6, 0.6), (40, 0.4), (300, 0.25), (1200, 0.12)):
        high = size * 2 // 3
        layer = Image.frombytes("RGB", (size, high), made.randbytes(size * high * 3))
        layer = layer.resize(picture.size, Image.Resampling.BICUBIC)
        picture = layer if size == 6 else Image.blend(picture, layer, share)
    file = io.BytesIO()
    picture.filter(ImageFilter.GaussianBlur(1)).save(file, "JPEG", quality=90)
    return file.getvalue()


def score(program: Path, chromium: str, url: str, report: Path) -> dict[str, int]:
    """Run Lighthouse on a page, as on a phone; return the score of each category."""
    command = [
        *(str(program), url, "--quiet", "--output=json", "--output=html"),
        *(f"--output-path={report}", f"--only-categories={','.join(CATEGORIES)}"),
        f"--chrome-flags={' '.join(FLAGS)}",
    ]
    environment = {**os.environ, "CHROME_PATH": chromium}
    subprocess.run(command, check=True, env=environment)
    found: dict[str, Any] = json.loads(report.with_suffix(".report.json").read_text())
    return {name: round(100 * (found["categories"][name]["score"] or 0)) for name in CATEGORIES}


if __name__ == "__main__":
    sys.exit(main())
