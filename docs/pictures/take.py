"""Take the screenshots of the docs from the running program: `make pictures`.

It starts the same programs as the demo (a database in a temporary folder, the sandbox, the site and
two workers) and imports readers and past issues. Then this script does an author's work in a real
browser and takes the screenshots. All programs end when the script ends.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import requests

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
sys.path[:0] = [str(ROOT), str(FOLDER)]
from almanack import (  # noqa: E402
    AUTHOR,
    ELSEWHERE,
    FIELDS,
    LETTER,
    NEWSLETTER,
    PAST,
    PREVIEW_TEXT,
    READERS_NOW,
    SECOND_DRAFT,
    SENDER,
    TITLE,
    TOPICS,
    WELCOME,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from newsletter_site.demo.start_services import Services

HOLD_S = 30
WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
CHROMIUM = (
    *("chromium", "chromium-headless-shell", "chromium-browser"),
    *("google-chrome", "google-chrome-stable"),
)


def main() -> None:
    """Take the screenshots into the folder of `--into`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=FOLDER, help="the folder for the screenshots")
    into = parser.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    with running_program() as services, browser() as chromium:
        take(services, chromium, into)


@contextmanager
def running_program() -> Iterator[Services]:
    """Run database, sandbox, site and workers, with readers and past issues."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="homing-pictures-")))
        os.environ.update(
            DEBUG="on",
            DJANGO_SETTINGS_MODULE="newsletter_site.settings",
            DJANGO_ALLOW_ASYNC_UNSAFE="1",
            FROM_EMAIL=SENDER,
            HOMING_DATA_DIR=str(folder),
        )
        os.environ.pop("DATABASE_URL", None)
        import django

        django.setup()
        from django.core.management.base import OutputWrapper

        from newsletter_site.demo.child_processes import Children
        from newsletter_site.demo.start_services import open_database, start_services
        from newsletter_site.demo.terminal import Terminal

        terminal = Terminal(OutputWrapper(sys.stdout))
        children = stack.enter_context(Children(folder, terminal))
        open_database(terminal)
        # Use the default hold, so that the screenshots show it.
        services = start_services(children, hold_s=HOLD_S)
        name_everything(services)
        for number, _ in enumerate(PAST):
            publish_past(services, number, folder, terminal.pause)
            terminal.step(f"“{PAST[number].title}” was sent")
        bring_in(PAST[-1].readers, READERS_NOW, folder)
        yield services


def name_everything(services: Services) -> None:
    """Set the names of the newsletter and its author."""
    from delivery.models import Newsletter
    from newsletter_site.models import User

    Newsletter.objects.update(**NEWSLETTER)
    first, last = AUTHOR
    User.objects.filter(pk=services.author.pk).update(
        first_name=first, last_name=last, email="edith@almanack.example"
    )


def bring_in(first: int, last: int, folder: Path) -> None:
    """Import these rows of the demo's list from a separate file."""
    from subscribers.importing.accept_upload import Statement
    from subscribers.importing.import_file import import_file

    rows = (
        (ROOT / "newsletter_site/demo/material/readers.csv").read_text("utf-8-sig").splitlines(True)
    )
    piece = folder / f"readers-{last}.csv"
    piece.write_text(rows[0] + "".join(rows[1 + first : 1 + last]), "utf-8")
    stated = Statement(confirmed=True, where="the counter of the reading room")
    import_file(piece, stated=stated)


def publish_past(services: Services, number: int, folder: Path, pause: Callable[[], None]) -> None:
    """Import the readers who got a past issue, publish it, and set its date back."""
    from django.db import connection

    from delivery.rules.edition_state import EditionState
    from publishing.content.edition_content import Content
    from publishing.editions.edition_status import load_status
    from publishing.publish.publish_edition import publish

    past = PAST[number]
    bring_in(PAST[number - 1].readers if number else 0, past.readers, folder)
    words = f"Dear {{{{ name|reader }}}},\n\n{past.words}\n"
    edition = publish(
        services.author.pk,
        f"picture-{number}",
        Content(title=past.title, html=f"<p>{past.words}</p>", text=words),
        hold_s=0,
    ).edition
    while load_status(edition.pk).state in (EditionState.HELD, EditionState.SENDING):
        pause()
    with connection.cursor() as cursor:
        # Set back all times that the pages show.
        for table, columns, key in (
            ("edition", ("published_at", "held_until"), "id"),
            ("attempt", ("started_at", "finished_at"), "edition_id"),
        ):
            moved = ", ".join(
                f"{column} = {column} - %(days)s * interval '1 day'" for column in columns
            )
            cursor.execute(
                f"UPDATE {table} SET {moved} WHERE {key} = %(edition)s",  # noqa: S608 -- constants
                {"days": past.days, "edition": edition.pk},
            )
        cursor.execute(
            "UPDATE django_admin_log SET action_time = action_time - %s * interval '1 day' "
            "WHERE action_time > now() - interval '1 hour' AND object_id = %s",
            [past.days, str(edition.issue_id)],
        )


@contextmanager
def browser() -> Iterator[Browser]:
    """Start the installed Chromium."""
    import shutil

    from playwright.sync_api import sync_playwright

    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        sys.exit("No Chromium was found on this machine; install the package chromium.")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield chromium
        chromium.close()


def take(services: Services, chromium: Browser, into: Path) -> None:
    """Do an author's work and take the screenshots."""
    window = chromium.new_context(base_url=services.site.url, viewport=WIDE, device_scale_factor=1)
    page = window.new_page()

    def picture(name: str, *, whole: bool = False) -> None:
        page.mouse.move(0, 0)
        page.evaluate(
            "if (document.activeElement.matches('textarea')) document.activeElement.blur()"
        )
        if not page.locator("dialog[open]").count():
            page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=into / f"{name}.png", full_page=whole, animations="disabled")
        print(f"{name}.png")

    page.goto("/")
    picture("sign-up")
    sign_in(page, services)
    write(page)
    picture("composer")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)
    picture("composer-dark-phone")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="Check and publish").click()
    page.get_by_role("heading", name="Before it goes out").wait_for()
    page.get_by_text("Passed").wait_for()
    picture("check", whole=True)
    slow_down(services)
    page.get_by_role("button", name=re.compile("^Publish to")).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=re.compile("^Publish to")).wait_for()
    picture("publish")
    dialog.get_by_role("button", name=re.compile("^Publish to")).click()
    page.wait_for_url(re.compile(r"/admin/newsletters/[^/]+-[^/]+/(\?|$)"))
    progress = page.url.partition("?")[0]
    picture("held")
    page.get_by_text(re.compile("unconfirmed")).first.wait_for(timeout=90_000)
    page.locator(".tally b", has_text=re.compile("^[1-9]")).wait_for(timeout=90_000)
    picture("progress")
    begin_another(page, picture)
    page.goto("/admin/newsletters/issues/")
    picture("desk", whole=True)
    requests.delete(f"{services.sandbox.url}/__sandbox__/faults", timeout=10).raise_for_status()
    page.goto(progress)
    page.get_by_text(re.compile("Succeeded")).first.wait_for(timeout=120_000)
    page.goto(f"{progress}receipt/")
    picture("receipt", whole=True)
    page.goto("/admin/newsletters/imports/")
    page.get_by_role("link", name=re.compile("readers-")).first.click()
    picture("import-report", whole=True)
    page.goto("/archive/")
    page.get_by_role("link", name=TITLE).first.click()
    picture("archive")
    page.goto(services.sandbox.url)
    page.get_by_role("link", name=TITLE).first.click()
    picture("sandbox-inbox")
    page.goto(choice_of_topics())
    picture("preferences")
    take_groups(page, picture, services)
    page.goto("/admin/newsletters/settings/look/")
    page.frame_locator("iframe").first.get_by_text(NEWSLETTER["name"]).first.wait_for()
    picture("look")
    invite(page)
    picture("authors", whole=True)
    window.close()


def take_groups(page: Page, picture: Callable[..., None], services: Services) -> None:
    """Take screenshots about groups, the welcome letter, and moves from and to Homing."""
    tag, draft = group_readers(services)
    page.goto("/admin/newsletters/settings/?count")
    picture("settings", whole=True)
    page.goto(f"/admin/newsletters/readers/?tag={tag}&state=confirmed")
    picture("readers")
    page.goto(f"/admin/newsletters/readers/change/?do=unsubscribe&scope=found&tag={tag}")
    picture("many-readers")
    page.goto(f"/admin/newsletters/drafts/{draft}/check/")
    page.get_by_text("Passed").wait_for()
    picture("check-tags", whole=True)
    page.goto("/admin/newsletters/welcome/")
    picture("welcome")
    page.goto("/admin/newsletters/download/")
    picture("download")
    page.goto("/admin/newsletters/move/?from=beehiiv")
    picture("move", whole=True)
    page.get_by_label("Exported file").set_input_files(
        {"name": "readers.csv", "mimeType": "text/csv", "buffer": ELSEWHERE.encode()}
    )
    page.get_by_role("button", name="Upload and check").click()
    page.get_by_role("heading", name="Columns").wait_for()
    picture("import-check", whole=True)


def group_readers(services: Services) -> tuple[int, str]:
    """Add fields and tags, limit a draft's readers, turn the welcome letter on."""
    from django.db.models import F, Value
    from django.db.models.functions import Mod

    from publishing.content.edition_content import Content
    from publishing.models import Draft
    from publishing.publish.switch_welcome_letter import turn_on
    from subscribers.models import ReaderFieldDefinition, Subscriber, Tag

    for position, (key, label, fallback) in enumerate(FIELDS, 1):
        ReaderFieldDefinition.objects.create(
            key=key, label=label, fallback=fallback, position=position, on_form=position == 1
        )
    garden, lane, _hall = Tag.objects.filter(is_topic=True).order_by("id")
    friends = Tag.objects.create(name="Friends of the museum")
    readers = Subscriber.objects.annotate(rest=Mod(F("id"), Value(7)))
    readers.filter(rest__lt=3).update(tags=[lane.pk], fields={"town": "Nether Wick"})
    readers.filter(rest=3).update(tags=[garden.pk, friends.pk], fields={"town": "Weir"})
    draft = Draft.objects.get(title=SECOND_DRAFT[0])
    Draft.objects.filter(pk=draft.pk).update(
        with_tags=[lane.pk, friends.pk], letter=f"{SECOND_DRAFT[1]} Look for it in {{{{ town }}}}."
    )
    turn_on(services.author.pk, Content(title=WELCOME[0], text=WELCOME[1]))
    return friends.pk, str(draft.pk)


def choice_of_topics() -> str:
    """Add topics and return the page on which a reader chooses among them."""
    from subscribers.links.unsubscribe_token import PREFERENCES, token_for
    from subscribers.models import Subscriber, Tag

    topics = [Tag(name=name, description=TOPICS[name], is_topic=True) for name in TOPICS]
    Tag.objects.bulk_create(topics)
    reader = Subscriber.objects.filter(state="confirmed").earliest("id")
    Subscriber.objects.filter(pk=reader.pk).update(tags=[topics[0].pk])
    return f"/preferences/{token_for(reader.pk, PREFERENCES)}/"


def sign_in(page: Page, services: Services) -> None:
    """Sign in to the desk."""
    page.goto("/admin/newsletters/issues/")
    page.get_by_label("User name").fill(services.author.username)
    page.get_by_label("Password").fill(services.password)
    page.get_by_role("button", name="Sign in").click()


def write(page: Page) -> None:
    """Write the letter, and wait until its preview is shown."""
    page.goto("/admin/newsletters/write/")
    page.get_by_label("Title and subject").fill(TITLE)
    page.get_by_label("Preview text").fill(PREVIEW_TEXT)
    write_letter(page, LETTER)
    page.wait_for_url("**/drafts/*/")
    letter = page.frame_locator("iframe").first
    letter.get_by_role("heading", name="How to notice an absence").wait_for()


def write_letter(page: Page, words: str) -> None:
    """Write the letter's Markdown, and show the letter as it will look."""
    page.get_by_role("button", name="Markdown", exact=True).click()
    page.get_by_label("Letter, in Markdown").fill(words)
    page.get_by_role("button", name="Formatted", exact=True).click()


def slow_down(services: Services) -> None:
    """Slow the provider down, and let it lose one reply."""
    for fault in (
        {"kind": "accept_then_close", "nth": 6},
        {"kind": "slow", "seconds": 5, "calls": None},
    ):
        answer = requests.post(f"{services.sandbox.url}/__sandbox__/faults", json=fault, timeout=10)
        answer.raise_for_status()


def begin_another(page: Page, picture: Callable[..., None]) -> None:
    """Begin a second draft, and take a screenshot of what a slash opens."""
    title, words = SECOND_DRAFT
    page.goto("/admin/newsletters/write/")
    page.get_by_label("Title and subject").fill(title)
    write_letter(page, words)
    page.wait_for_url("**/drafts/*/")
    page.get_by_role("textbox", name="The letter", exact=True).click()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.press("Enter")
    page.keyboard.type("/")
    page.get_by_role("listbox", name="Insert").wait_for()
    picture("composer-slash")
    page.keyboard.press("Escape")
    write_letter(page, words)
    page.get_by_text("Saved", exact=True).first.wait_for()


def invite(page: Page) -> None:
    """Invite a second author."""
    page.goto("/admin/authors/")
    page.get_by_label("Email address").fill("ines@almanack.example")
    page.get_by_label("Name").fill("Inês Duarte")
    page.get_by_role("radio", name="Writer").check()
    page.get_by_role("button", name="Send invitation").click()
    page.get_by_role("heading", name="Invitations").wait_for()


if __name__ == "__main__":
    main()
