"""The desk's pages of drafts, images, publishing, test letters, issues and tokens."""

import io
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urljoin

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.utils import timezone
from PIL import Image
from playwright.sync_api import Page, expect

from delivery.models import Batch, Delivery, Edition, Newsletter
from idempotency.key import fresh_key
from newsletter_site.tokens.api_tokens import create_token
from publishing.content.draft_content import MARKDOWN, DraftFields, build_content
from publishing.drafts import save_draft
from publishing.external_checks import cached_results
from publishing.external_checks.open_link import LinkResult
from publishing.models import Draft, Snippet
from publishing.publish.switch_welcome_letter import turn_on
from publishing.rehearsal.rehearse import request_rehearsal, run_next_rehearsal
from publishing.test_letters.send_test_letter import send_test
from subscribers.models import Subscriber, Tag
from tests.browser.author_session import is_ready, letter, make_a_token, open_settings, sheet
from tests.browser.pages.accessibility import LONGEST, LONGEST_ADDRESS, Pages, Shown
from tests.publishing.edition_states import cancelled, in_doubt, sent
from tests.publishing.publish_with import publish
from tests.publishing.schedule_issue import scheduled_time_in_zone
from tests.subscribers.factories import SubscriberFactory

DESK = "/admin/newsletters/"
TOKEN = "a" * 32
LINK = "https://weatherbooks.org/1911"
PLAIN = DraftFields(title="A moth at the lamp", format=MARKDOWN, letter="Dear all,\n\na moth.")
LONG_TITLE = DraftFields(title=LONGEST, format=MARKDOWN, letter="Welcome.")
# No part of this draft can be broken into lines, and every part has an error.
LONG = DraftFields(
    title=LONGEST * 2,
    preview_text=LONGEST * 2,
    format=MARKDOWN,
    letter=f"# {LONGEST}\n\n`{LONGEST * 3}` {{{{ no }}}}",
)
TABLE = DraftFields(
    title="A table",
    format=MARKDOWN,
    letter="|a long head|another one|a third one|\n|-|-|-|\n|one|two|three|",
)
WELL = DraftFields(
    title="Swifts",
    preview_text="Where they are",
    format=MARKDOWN,
    letter=f"Dear {{{{ name|reader }}}}, [gone]({LINK}).",
)
# A letter with every possible finding.
FAULTY = DraftFields(
    title="Swifts",
    format=MARKDOWN,
    letter=(
        "Dear {{ nmae }},\n\nTODO\n\n![](http://almanack.org/swift.png)\n\n"
        f"[the book]({LINK}), [home](about.html), [x](https://{'w' * 60}.example.net/{'y' * 80})"
    ),
)


def begun(author: Any, words: DraftFields = PLAIN) -> Draft:
    return save_draft.create(author.pk, fresh_key(), words).draft


def published(
    author: Any, words: DraftFields = PLAIN, *, hold_s: float = 0, **named: Any
) -> Edition:
    return publish(author.pk, fresh_key(), build_content(words), hold_s=hold_s, **named).edition


def at(draft: Draft, page: str = "") -> str:
    """Return the URL of a draft, or of a page below it."""
    return f"{DESK}drafts/{draft.pk}/{page}"


def link_was_opened() -> None:
    """Store a result for the link in `WELL`, so that the sheet does not open it."""
    cached_results.save(cached_results.LINK, {LINK: LinkResult(status=404, url=LINK)})


def everything_is_looked_up(page: Page) -> None:
    """Wait until the sheet has checked the links and the sender's DNS records."""
    expect(page.locator("[data-looking]:visible")).to_have_count(0)


def _posted(address: str, heading: str, /, **fields: str) -> Shown:
    """Return the answer to a form that was posted long after it was opened."""
    data = urlencode({"csrfmiddlewaretoken": TOKEN, **fields})
    form = {"content-type": "application/x-www-form-urlencoded"}

    def post(page: Page) -> None:
        page.context.add_cookies(
            [{"name": "csrftoken", "value": TOKEN, "url": urljoin(page.url, "/")}]
        )
        page.route(
            f"**{address}",
            lambda route: route.continue_(
                method="POST", post_data=data, headers={**route.request.headers, **form}
            ),
        )
        page.goto(address)

    return Shown(DESK, post, heading)


def _panel(name: str) -> Callable[[Page], None]:
    def open_it(page: Page) -> None:
        is_ready(page).get_by_role("button", name=name).first.click()

    return open_it


def _menu(name: str) -> Callable[[Page], None]:
    def open_it(page: Page) -> None:
        is_ready(page).locator("summary", has_text=name).click()

    return open_it


def _prepare_video(page: Page) -> None:
    _menu("Video")(page)
    page.get_by_label("Address of the video").fill("https://vimeo.com/76979871")
    page.get_by_role("button", name="Get image").click()
    expect(page.get_by_role("button", name="Insert video")).to_be_visible()


def _settings(group: str) -> Callable[[Page], None]:
    return lambda page: open_settings(is_ready(page), group)


def _open_tags(page: Page) -> None:
    open_settings(is_ready(page), "Choose readers by tag")
    page.get_by_role("group", name="Only readers").get_by_label("Birds").check()
    expect(page.get_by_text("no confirmed reader matches")).to_be_visible()


def composer(author: Any) -> Pages:
    """Return the composer with each panel open, and pages that it leads to."""
    ines = get_user_model().objects.create_user("ines", first_name="Inês", last_name="Faria")
    plain, long, table = (begun(author, words) for words in (PLAIN, LONG, TABLE))
    html = begun(
        author,
        DraftFields(
            title="HTML", format="html", letter=f"<p>{LONGEST}</p><p>Dear all.</p>", text="Own."
        ),
    )
    first = published(author)
    sent(first)
    Tag.objects.bulk_create(Tag(name=name) for name in ("Birds", LONGEST[:60]))
    snippet = Snippet.objects.create(name=LONGEST[:60], text=LONGEST * 2)

    def write_over(page: Page) -> None:
        """Let another author save the draft while it is open on this page."""
        is_ready(page)
        revision = Draft.objects.get(pk=plain.pk).revision
        theirs = DraftFields(title=PLAIN.title, format=MARKDOWN, letter=f"Theirs, {uuid.uuid4()}.")
        save_draft.save(plain.pk, revision, theirs, by=ines.pk)
        letter(page).fill(f"Mine, {LONGEST}.")
        expect(page.get_by_text("Both versions are kept.")).to_be_visible()

    def compare(page: Page) -> None:
        write_over(page)
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Two versions of one draft")

    def ask_for_a_link(page: Page) -> None:
        sheet(is_ready(page)).press("ControlOrMeta+k")
        expect(page.get_by_label("Address", exact=True)).to_be_focused()

    def go_offline(page: Page) -> None:
        is_ready(page)
        page.route("**/drafts/**", lambda route: route.abort())
        letter(page).fill(str(uuid.uuid4()))
        expect(page.get_by_role("status")).to_contain_text("Your text is kept")

    return {
        "a fresh composer": Shown(f"{DESK}write/", is_ready),
        "a fresh composer for HTML": Shown(DESK, is_ready),
        "a draft": Shown(at(plain), is_ready),
        "a long draft with flaws": Shown(at(long)),
        "its plain text": Shown(at(long), _settings("Plain text")),
        "its Markdown": Shown(at(long), letter),
        "a link in it": Shown(at(long), ask_for_a_link),
        "a draft in HTML": Shown(at(html)),
        "an edited plain text": Shown(at(html), _settings("Plain text")),
        "a table": Shown(at(table)),
        "a choice of tags": Shown(at(table), _open_tags),
        "the menu of snippets": Shown(at(plain), _menu("Snippets")),
        "the menu of videos": Shown(at(plain), _prepare_video),
        "the snippets": Shown(f"{DESK}snippets/"),
        "a snippet": Shown(f"{DESK}snippets/{snippet.pk}/"),
        "deletion of a snippet": Shown(f"{DESK}snippets/{snippet.pk}/delete/"),
        "the dialog of a test letter": Shown(at(plain), _panel("Send a test…")),
        "changed by another": Shown(at(plain), write_over),
        "two versions": Shown(at(plain), compare),
        "not saved": Shown(at(table), go_offline),
        "a correction": Shown(f"{DESK}write/?issue={first.issue_id}"),
        "a correction in HTML": Shown(f"{DESK}?issue={first.issue_id}"),
        "throw away": Shown(at(long, "delete/")),
        "back to Markdown": Shown(at(html, "markdown/")),
    }


def pictures(_author: Any) -> Pages:
    """Return the page on which a browser without scripts uploads images."""
    file = io.BytesIO()
    Image.new("RGB", (900, 300), "teal").save(file, "PNG")

    def uploaded(alt: str, content: bytes = file.getvalue(), name: str = "teal.png") -> Shown:
        def upload(page: Page) -> None:
            page.get_by_label("Image", exact=True).set_input_files(
                files=[{"name": name, "mimeType": "image/png", "buffer": content}]
            )
            page.get_by_label("Alt text").fill(alt)
            page.get_by_role("button", name="Upload").click()
            answer = page.get_by_label("In a letter in Markdown").or_(page.get_by_role("alert"))
            expect(answer.first).to_be_visible()

        return Shown(f"{DESK}pictures/", upload)

    return {
        "no picture yet": Shown(f"{DESK}pictures/"),
        "a picture": uploaded(LONGEST),
        "a picture without words": uploaded(""),
        "no picture at all": uploaded("", b"%PDF-1.7", f"{LONGEST}.png"),
    }


def publishing(author: Any) -> Pages:
    """Return the check sheets, and answers to late requests."""
    Newsletter.objects.get_current()
    link_was_opened()
    draft, done, well = begun(author), begun(author), begun(author, WELL)
    edition = published(author)
    sent(edition)
    Draft.objects.filter(pk=done.pk).update(edition=edition, issue=edition.issue_id)
    rehearsed, waits = begun(author, WELL), begun(author, WELL)
    refused = SubscriberFactory(email=f"o?{'d' * 50}@posthouse.example")
    request_rehearsal(rehearsed)
    run_next_rehearsal(lambda: False)
    Subscriber.objects.filter(pk=refused.pk).update(state=Subscriber.State.BOUNCED)
    request_rehearsal(waits)
    press = {"revision": "9", "content": "0" * 64, "version": "1", "when": "now"}
    used = {"title": "Other words", "html_content": f"<p>{LONGEST}</p>"}
    past = "publish/?when=at&at=2001-01-01T07:00&zone=Europe/Lisbon"

    def ask(page: Page) -> None:
        everything_is_looked_up(page)
        page.get_by_role("button", name="Publish to ").click()
        expect(page.get_by_role("dialog").get_by_role("heading")).to_be_focused()

    return {
        "a sheet": Shown(at(well, "check/"), everything_is_looked_up),
        "its dialog": Shown(at(well, "check/"), ask),
        "a sheet full of faults": Shown(
            at(begun(author, FAULTY), "check/"), everything_is_looked_up
        ),
        "a rehearsal with a refused reader": Shown(at(rehearsed, "rehearsal/")),
        "a rehearsal that waits": Shown(at(waits, "rehearsal/")),
        "the question": Shown(at(well, "publish/")),
        "a press of older words": _posted(
            at(draft, "publish/"), "Before it goes out", idempotency_key=str(draft.key), **press
        ),
        "a press after it was published otherwise": _posted(
            at(done, "publish/"), "already published", idempotency_key=str(done.key), **press
        ),
        "a press without the key": _posted(at(draft, "publish/"), "Before it goes out", **press),
        "a post that is refused": _posted(
            DESK,
            "Write an issue",
            idempotency_key=fresh_key(),
            html_content="{{ no }}",
            goes_to="x",
        ),
        "a post under a used key": _posted(
            DESK, "already published", idempotency_key=edition.idempotency_key, **used
        ),
        "an address that is refused": _posted(
            at(draft, "address/"), "Before it goes out", address="…"
        ),
        "a time that is past": Shown(at(draft, past)),
        "a published draft": Shown(at(done)),
        "an old form of the desk": _posted(
            at(draft, "delete/"), "You don’t have access to this page", csrfmiddlewaretoken="x"
        ),
        "an old form of the composer": _posted(
            at(draft), "Write an issue", csrfmiddlewaretoken="x", letter=LONGEST
        ),
    }


def second_person(author: Any) -> Pages:
    """Return pages that change if publishing needs a second approval."""
    Newsletter.objects.get_current()
    Newsletter.objects.update(second_person=True)
    tomas = get_user_model().objects.create_user("tomas", first_name="Tomás", last_name="Brandão")
    tomas.groups.set(Group.objects.all())
    return {
        "her own draft": Shown(at(begun(author), "check/")),
        "another's draft": Shown(at(begun(tomas), "check/")),
    }


def marked_letters(author: Any) -> Pages:
    """Return a test letter in each of its states."""
    waiting, accepted, refused, unconfirmed = (
        send_test(author.pk, build_content(PLAIN), f"{name}@{'posthouse' * 6}.example.org")
        for name in ("w", "a", "r", "d")
    )
    _settle(accepted, outcome="sent", sent_at=timezone.now(), evidence="reply",
            provider_message_id="1")  # fmt: skip
    _settle(refused, outcome="failed", reason=f"Postmark refuses: “{LONGEST}” (code 400).")
    _settle(unconfirmed, outcome="unknown")
    flaws = {"title": "", "letter": "{{ no }}", "format": "markdown", "test_email": LONGEST}
    return {
        "waiting": Shown(f"{DESK}test/{waiting}/"),
        "accepted": Shown(f"{DESK}test/{accepted}/"),
        "refused": Shown(f"{DESK}test/{refused}/"),
        "unconfirmed": Shown(f"{DESK}test/{unconfirmed}/"),
        "not sent": _posted(
            f"{DESK}test/", "The test letter was not sent", idempotency_key=fresh_key(), **flaws
        ),
    }


def _settle(number: int, **facts: Any) -> None:
    """Record the result of a test letter's one copy."""
    copy = Delivery.objects.filter(issue__isnull=False, version=number).get(
        batch__edition__kind="test"
    )
    Delivery.objects.filter(pk=copy.pk).update(**facts)
    counts = {"waiting": 0, facts["outcome"]: 1}
    state = "unknown" if facts["outcome"] == "unknown" else "done"
    doubt = {"unknown_since": timezone.now()} if state == "unknown" else {}
    Batch.objects.filter(pk=copy.batch_id).update(**counts, state=state, **doubt)


def missed(edition: Edition) -> Delivery:
    """Send all copies except one, which has failed after all tries."""
    sent(edition)
    copy = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient").first()
    assert copy is not None
    Delivery.objects.filter(pk=copy.pk).update(
        outcome="failed", sent_at=None, evidence="", provider_message_id=None,
        reason=f"All 10 tries are used up. Last: {LONGEST}", missed=True,
    )  # fmt: skip
    batch = Batch.objects.get(pk=copy.batch_id)
    Batch.objects.filter(pk=batch.pk).update(sent=batch.sent - 1, failed=1, missed=1)
    return copy


def watching(author: Any) -> Pages:
    """Return the pages of an issue in each state, and confirmation pages.

    All these pages use the same template.
    """
    moment = scheduled_time_in_zone(
        timezone.now().replace(second=0) + timedelta(days=9), "Europe/Lisbon"
    )
    of = {
        "held": published(author, hold_s=3600),
        "scheduled": published(author, at=moment),
        "sending": published(author),
        "paused": published(author),
        "stopped": published(
            author, DraftFields(title=LONGEST, format=MARKDOWN, letter="Dear all.")
        ),
        "unconfirmed": published(author),
        "parked": published(author),
        "missed": published(author),
        "cancelled": published(author),
        "corrected": published(author),
    }
    Edition.objects.filter(pk=of["paused"].pk).update(control="paused")
    Edition.objects.filter(pk=of["stopped"].pk).update(
        control="stopped", control_reason="Postmark refuses the sender. Confirm it, then resume."
    )
    Batch.objects.filter(edition__in=[of["paused"], of["stopped"]]).update(state="paused")
    in_doubt(of["unconfirmed"])
    in_doubt(of["parked"])
    Batch.objects.filter(edition=of["parked"]).update(state="parked")
    missed(of["missed"])
    cancelled(of["cancelled"])
    sent(of["corrected"])
    sent(published(author, issue=of["corrected"].issue_id, version=2))
    asked = {
        "held": ("pause", "cancel"),
        "scheduled": ("call-back", "send-now"),
        "parked": ("ask-again", "resend-unknown"),
        "missed": ("send-to-missed", "close"),
    }
    page_of = {name: f"{DESK}{edition.issue_id}/" for name, edition in of.items()}
    return {
        **{name: Shown(address) for name, address in page_of.items()},
        "the receipt of what was cancelled": Shown(f"{page_of['cancelled']}receipt/"),
        "an older version": Shown(f"{page_of['corrected']}?version=1"),
        "the receipt of a correction": Shown(f"{page_of['corrected']}receipt/"),
        "the missed": Shown(f"{page_of['missed']}?outcome=missed"),
        "nobody found": Shown(f"{page_of['missed']}?q={LONGEST_ADDRESS}"),
        "no receipt yet": Shown(f"{page_of['held']}receipt/"),
        "another time": Shown(f"{page_of['scheduled']}reschedule/"),
        "a time that is past": Shown(f"{page_of['scheduled']}reschedule/", _choose_the_past),
        **{
            f"{name}: {action}": Shown(f"{page_of[name]}{action}/")
            for name, actions in asked.items()
            for action in actions
        },
    }


def _choose_the_past(page: Page) -> None:
    page.get_by_label("Date and time").fill("2001-01-01T07:00")
    page.get_by_role("button", name="Change the time").click()
    expect(page.get_by_text("2001, 07:00 Europe/Lisbon is in the past")).to_be_visible()


def receipts(author: Any) -> Pages:
    """Return the results of checking a receipt."""
    ended = published(author)
    sent(ended)
    there = f"{DESK}{ended.issue_id}/receipt/"

    def genuine(page: Page) -> str:
        page.request.get(there)
        return page.request.get(f"{there}receipt.json").text()

    def checked(text: Callable[[Page], str]) -> Shown:
        def check(page: Page) -> None:
            page.get_by_label("Text of the receipt").fill(text(page))
            page.get_by_role("button", name="Check", exact=True).click()
            expect(page.locator("#found, #wrong").first).to_be_visible()

        return Shown(f"{DESK}receipts/", check)

    return {
        "receipts": Shown(f"{DESK}receipts/"),
        "genuine": checked(genuine),
        "not genuine": checked(
            lambda page: genuine(page).replace('"audience":40', '"audience":41')
        ),
        "no receipt": checked(lambda _page: LONGEST),
    }


def welcome_letter(author: Any) -> Pages:
    """Return the page of an active welcome letter, and the page of a refused letter."""
    begun(author, LONG)
    turn_on(author.pk, build_content(LONG_TITLE))

    def choose(page: Page) -> None:
        page.get_by_role("button", name="Replace the letter").click()
        expect(page.get_by_role("alert")).to_be_visible()

    there = f"{DESK}welcome/"
    return {"on": Shown(there), "refused": Shown(there, choose)}


def tokens(author: Any) -> Pages:
    """Return the page of tokens with a new token, and the page that revokes one."""
    create_token(author, "an older program with a rather long name", ["status", "readers"])

    def ask_to_revoke(page: Page) -> None:
        page.get_by_role("link", name="Revoke “an older program").click()
        expect(page.get_by_role("button", name="Revoke token")).to_be_visible()

    there = f"{DESK}tokens/"
    return {"a fresh token": Shown(there, make_a_token), "revoke": Shown(there, ask_to_revoke)}
