"""Public pages: every page that a reader can open, in every state."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from delivery.models import Newsletter
from publishing.content.edition_content import Content
from subscribers.consent.consent_log import record_consent
from subscribers.links import request_token
from subscribers.links.request_token import Request
from subscribers.links.unsubscribe_token import PREFERENCES, token_for
from subscribers.models import ReaderFieldDefinition, Tag
from tests.browser.pages.accessibility import LONGEST, LONGEST_ADDRESS, Pages, Shown
from tests.publishing.publish_with import publish
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.signup_browser import link

LETTER = """
<h1>Swifts leave without saying goodbye</h1><p class="open">They are gone.</p>
<h2>Where they are now</h2><p>Over <a href="https://example.org/congo">the Congo basin</a>.</p>
<table><caption>Last seen</caption><tr><th scope="col">Year</th><th scope="col">Birds</th></tr>
<tr><td>2026</td><td class="num">14</td></tr></table>
"""

# The pages that most readers see. All other public pages consist of the same parts.
IN_EVERY_LANGUAGE = (
    *(
        "sign up",
        "asked",
        "sign up with mistakes",
        "confirm",
        "confirmed",
        "topics",
        "leave",
        "left",
    ),
    *("asking for a record", "asked for a record", "record", "archive", "a corrected letter"),
)


def _press(**typed: str) -> Callable[[Page], None]:
    """Fill in the page's form and press its button, in any language."""

    def press(page: Page) -> None:
        for field, text in typed.items():
            page.locator(f"[name={field}]").fill(text)
        # If the button was pressed before, the page says so and shows no button.
        if (button := page.locator("form button")).count():
            with page.expect_navigation():
                button.click()

    return press


def _choose(page: Page) -> None:
    page.get_by_label("Swifts").check()
    page.get_by_label("Your name").fill("x" * 200)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Your preferences are saved.")
    expect(page.get_by_label("Swifts")).to_be_checked()
    expect(page.get_by_label("Tides")).not_to_be_checked()


def _mistype(page: Page) -> None:
    page.get_by_label("Your name").fill("\x9f")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#name_error")).to_be_visible()


def reader_pages(author: Any) -> Pages:
    """Return the pages in order: those that change something come last."""
    words = Content(title="Swifts leave without saying goodbye", html=LETTER, text="They are gone.")
    ReaderFieldDefinition.objects.create(key="city", label=LONGEST[:60], position=1, on_form=True)
    topics = {"Swifts": "Once a month, in summer more often.", LONGEST: "", "Tides": LONGEST}
    for name, description in topics.items():
        Tag.objects.create(name=name[:60], is_topic=True, description=description)
    links = "\n".join(f"{LONGEST[:60]} https://{n}.example/" for n in range(8))
    written = {"about": f"# {LONGEST}\n\nHi.", "imprint": "1 Quay", "own_links": links}
    Newsletter.objects.update(**written)
    first = publish(author.pk, "first", words, hold_s=0).edition
    publish(author.pk, "second", words, hold_s=0, issue=first.issue_id, version=2)
    unlisted = publish(author.pk, "third", words, hold_s=0, archive="unlisted").edition
    reader = SubscriberFactory(email="ada.whitlock@posthouse.example.org")
    long = SubscriberFactory(email=LONGEST_ADDRESS)
    gone = SubscriberFactory(state="unsubscribed")
    asking = SubscriberFactory(state="pending", requests=1)
    record_consent(asking.pk, "asked", "form", request=1)
    record_consent(reader.pk, "record asked", "form", request=1, wording="What do you hold?")
    record = f"/record/{request_token.token_for('record', Request(reader.pk, 1))}/"
    too_old = f"/record/{request_token.token_for('record', Request(reader.pk, 2))}/"
    leave = {one: f"/unsubscribe/{token_for(one.pk)}/" for one in (reader, long, gone)}
    choose = {one: f"/preferences/{token_for(one.pk, PREFERENCES)}/" for one in (reader, gone)}
    ada = "ada@posthouse.example.org"
    return {
        "front page": Shown("/"),
        "about": Shown("/about/"),
        "imprint": Shown("/imprint/"),
        "sign up": Shown("/subscriptions/"),
        "confirm": Shown(link(asking, 1)),
        "confirmed": Shown(link(reader, 1)),
        "too old to confirm": Shown(link(gone, 1)),
        "archive": Shown("/archive/"),
        "a corrected letter": Shown(first.archive_url.removeprefix("https://letter.example.org")),
        "an unlisted letter": Shown(
            unlisted.archive_url.removeprefix("https://letter.example.org")
        ),
        "leave": Shown(leave[reader]),
        "leave, of a long address": Shown(leave[long]),
        "left": Shown(leave[gone]),
        "topics": Shown(choose[reader], heading="Your preferences"),
        "topics of somebody who left": Shown(choose[gone], heading="You are off the list"),
        "topics saved": Shown(choose[reader], _choose),
        "a new name with an error": Shown(choose[reader], _mistype),
        "a damaged link": Shown("/unsubscribe/cut-off/"),
        "a damaged link to confirm": Shown("/subscriptions/confirm/?subscription_token=cut-off"),
        "asking for a record": Shown("/record/"),
        "asking to leave": Shown("/unsubscribe/"),
        "record": Shown(record),
        "erase": Shown(f"{record}erase/"),
        "a link that is too old": Shown(too_old),
        "sign up with mistakes": Shown("/", _press(email="@")),
        "confirm with mistakes": Shown(link(asking, 1), _press(name="\x9f")),
        "asked for a record of no address": Shown("/record/", _press(email="ada@")),
        "asked": Shown("/", _press(email=ada)),
        "asked for a record": Shown("/record/", _press(email=ada)),
        "asked to leave": Shown("/unsubscribe/", _press(email=ada)),
        "left just now": Shown(leave[long], _press()),
        "erased": Shown(f"{record}erase/", _press()),
    }
