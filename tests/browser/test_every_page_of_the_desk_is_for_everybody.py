"""The pages of the desk that no other test looks at: by ear, in the dark, on the smallest phone."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client, RequestFactory
from django.utils import timezone
from django.views.defaults import bad_request, server_error
from PIL import Image
from playwright.sync_api import Page, Route, expect

from delivery.models import Batch, Delivery, Edition, Newsletter
from idempotency.claim import seats
from idempotency.key import fresh_key
from publishing import drafts
from publishing.drafts import Wording
from publishing.models import Draft
from publishing.publish import publish
from publishing.scheduling import moment_of
from publishing.test_letters import send_test
from publishing.written import MARKDOWN, Written, content_of
from subscribers.models import Subscriber
from tests.browser.desk_of_readers import LONGEST as LONGEST_ADDRESS
from tests.browser.desk_of_readers import signed_in
from tests.browser.for_everybody import NARROWEST, faults_found_by_axe, scrolls_sideways
from tests.browser.states_of_the_desk import LONGEST
from tests.browser.web_site import WebSite
from tests.publishing.ledger import cancelled, in_doubt, sent

pytestmark = pytest.mark.django_db(transaction=True)

DESK = "/admin/newsletters/"
PATIENCE_MS = 20_000
PLAIN = Written("A moth at the lamp", "", MARKDOWN, "Dear all,\n\na moth.", "")
# Nothing in it gives a place to break a line, and all of it is wrong.
LONG = Written(
    LONGEST * 2, LONGEST * 2, MARKDOWN, f"# {LONGEST}\n\n`{LONGEST * 3}` {{{{ no }}}}", ""
)
TABLE = Written(
    "A table", "", MARKDOWN, "|a long head|another one|a third one|\n|-|-|-|\n|one|two|three|", ""
)


@dataclass(frozen=True)
class Shown:
    """Where a page is, and what is done on it before it is looked at."""

    address: str
    done: Callable[[Page], object] = lambda _page: None


Pages = Mapping[str, Shown]


def _begun(author: Any, words: Written = PLAIN) -> Draft:
    return drafts.begin(author.pk, fresh_key(), Wording(words)).draft


def _published(author: Any, *, hold_s: float = 0, **named: Any) -> Edition:
    return publish(author.pk, fresh_key(), content_of(PLAIN), hold_s=hold_s, **named).edition


def _post(page: Page, address: str, **fields: str) -> None:
    """Post a form from this page, as one that was opened long ago would."""
    with page.expect_navigation():
        page.evaluate(
            """([address, fields]) => {
                 const form = document.createElement("form");
                 form.method = "post";
                 form.action = address;
                 const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
                 const all = { csrfmiddlewaretoken: token, ...fields };
                 for (const [name, value] of Object.entries(all)) {
                   form.append(Object.assign(document.createElement("input"), { name, value }));
                 }
                 document.body.append(form);
                 form.submit();
               }""",
            [address, fields],
        )


def _heading(page: Page, words: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(words)


# --- The composer, and what is beside it ----------------------------------------------------------


def _panel(name: str) -> Callable[[Page], None]:
    def open_it(page: Page) -> None:
        expect(page.locator("#composer[data-ready]")).to_be_attached(timeout=PATIENCE_MS)
        page.get_by_role("button", name=name).click()

    return open_it


def _write_over(draft: Draft, by: Any) -> Callable[[Page], None]:
    """Another saves the draft while it is open here."""

    def write(page: Page) -> None:
        expect(page.locator("#composer[data-ready]")).to_be_attached(timeout=PATIENCE_MS)
        revision = Draft.objects.get(pk=draft.pk).revision
        theirs = Wording(Written(PLAIN.title, "", MARKDOWN, f"Theirs, {uuid.uuid4()}.", ""))
        drafts.save(draft.pk, revision, theirs, by=by.pk)
        page.get_by_label("Letter, in").fill(f"Mine, {LONGEST}.")
        expect(page.get_by_text("Neither version is lost.")).to_be_visible(timeout=PATIENCE_MS)

    return write


def _compare(draft: Draft, by: Any) -> Callable[[Page], None]:
    def compare(page: Page) -> None:
        _write_over(draft, by)(page)
        page.get_by_role("button", name="Compare").click()
        _heading(page, "Two versions of one draft")

    return compare


def _go_offline(page: Page) -> None:
    expect(page.locator("#composer[data-ready]")).to_be_attached(timeout=PATIENCE_MS)
    page.route("**/drafts/**", lambda route: route.abort())
    page.get_by_label("Letter, in").fill(str(uuid.uuid4()))
    expect(page.get_by_role("status")).to_contain_text("Every word is kept", timeout=PATIENCE_MS)


def composer(author: Any) -> Pages:
    """The composer with each of its panels open, and the pages that it leads to."""
    ines = get_user_model().objects.create_user("ines", first_name="Inês", last_name="Faria")
    plain, long, table = (_begun(author, words) for words in (PLAIN, LONG, TABLE))
    html = _begun(author, Written("HTML", "", "html", f"<p>{LONGEST}</p><p>Dear all.</p>", "Own."))
    first = _published(author)
    sent(first)
    at = {draft: f"{DESK}drafts/{draft.pk}/" for draft in (plain, long, table, html)}
    return {
        "a long draft with flaws": Shown(at[long]),
        "its text part": Shown(at[long], _panel("Text part")),
        "its pictures": Shown(at[long], _panel("Pictures")),
        "a draft in HTML": Shown(at[html]),
        "a text part in own words": Shown(at[html], _panel("Text part")),
        "a table": Shown(at[table]),
        "the dialog of a test letter": Shown(at[plain], _panel("Send a test…")),
        "changed by another": Shown(at[plain], _write_over(plain, ines)),
        "two versions": Shown(at[plain], _compare(plain, ines)),
        "not saved": Shown(at[table], _go_offline),
        "a correction": Shown(f"{DESK}write/?issue={first.issue_id}"),
        "a correction in the plain form": Shown(f"{DESK}?issue={first.issue_id}"),
        "throw away": Shown(f"{at[long]}delete/"),
        "back to Markdown": Shown(f"{at[html]}markdown/"),
    }


# --- Pictures -------------------------------------------------------------------------------------


def _upload(content: bytes, name: str, alt: str) -> Callable[[Page], None]:
    def upload(page: Page) -> None:
        page.get_by_label("Picture", exact=True).set_input_files(
            files=[{"name": name, "mimeType": "image/png", "buffer": content}]
        )
        page.get_by_label("Words in place of the picture").fill(alt)
        page.get_by_role("button", name="Upload").click()
        expect(page.get_by_label("In a letter in Markdown").or_(page.get_by_role("alert")).first
               ).to_be_visible()  # fmt: skip

    return upload


def pictures(author: Any) -> Pages:
    """The page on which pictures are uploaded without scripts."""
    file = io.BytesIO()
    Image.new("RGB", (900, 300), "teal").save(file, "PNG")
    there = f"{DESK}pictures/"
    return {
        "no picture yet": Shown(there),
        "a picture": Shown(there, _upload(file.getvalue(), "teal.png", LONGEST)),
        "a picture without words": Shown(there, _upload(file.getvalue(), "teal.png", "")),
        "no picture at all": Shown(there, _upload(b"%PDF-1.7", f"{LONGEST}.png", "")),
    }


# --- Checking and publishing ----------------------------------------------------------------------


def publishing(author: Any) -> Pages:
    """The sheet with a refusal or a missing second person, and presses that came too late."""
    Newsletter.objects.the_one()
    draft, published = _begun(author), _begun(author)
    edition = _published(author)
    sent(edition)
    Draft.objects.filter(pk=published.pk).update(edition=edition, issue=edition.issue_id)
    press = {"revision": "9", "content": "0" * 64, "version": "1", "when": "now"}
    twice = "?when=at&at=2001-01-01T07:00&zone=Europe/Lisbon"
    return {
        "a press of older words": Shown(
            DESK,
            lambda page: _post(
                page, f"{DESK}drafts/{draft.pk}/publish/", idempotency_key=draft.key, **press
            ),
        ),
        "a press without the key": Shown(
            DESK, lambda page: _post(page, f"{DESK}drafts/{draft.pk}/publish/", **press)
        ),
        "a time that is past": Shown(f"{DESK}drafts/{draft.pk}/publish/{twice}"),
        "a published draft": Shown(f"{DESK}drafts/{published.pk}/"),
        "an old form of the desk": Shown(
            DESK,
            lambda page: _post(page, f"{DESK}drafts/{draft.pk}/delete/", csrfmiddlewaretoken="x"),
        ),
        "an old form of the composer": Shown(
            DESK,
            lambda page: _post(
                page, f"{DESK}drafts/{draft.pk}/", csrfmiddlewaretoken="x", letter=LONGEST
            ),
        ),
    }


def second_person(author: Any) -> Pages:
    """What changes where publishing takes two."""
    Newsletter.objects.the_one()
    Newsletter.objects.update(second_person=True)
    tomas = get_user_model().objects.create_user("tomas", first_name="Tomás", last_name="Brandão")
    tomas.groups.set(Group.objects.all())
    hers = _begun(author)
    his = drafts.begin(tomas.pk, fresh_key(), Wording(PLAIN)).draft
    return {
        "her own draft": Shown(f"{DESK}drafts/{hers.pk}/check/"),
        "another's draft": Shown(f"{DESK}drafts/{his.pk}/check/"),
        "the plain form": Shown(DESK),
    }


# --- Test letters ---------------------------------------------------------------------------------


def test_letters(author: Any) -> Pages:
    """A test letter in each of its states."""
    waiting, accepted, refused, doubtful = (
        send_test(author.pk, content_of(PLAIN), f"{name}@{'posthouse' * 6}.example.org")
        for name in ("w", "a", "r", "d")
    )
    _settle(accepted, outcome="sent", sent_at=timezone.now(), evidence="reply",
            provider_message_id="1")  # fmt: skip
    _settle(refused, outcome="failed", reason=f"Postmark refuses: “{LONGEST}” (code 400).")
    _settle(doubtful, outcome="unknown")
    flaws = {"title": "", "letter": "{{ no }}", "format": "markdown", "test_email": LONGEST}
    return {
        "waiting": Shown(f"{DESK}test/{waiting}/"),
        "accepted": Shown(f"{DESK}test/{accepted}/"),
        "refused": Shown(f"{DESK}test/{refused}/"),
        "in doubt": Shown(f"{DESK}test/{doubtful}/"),
        "not sent": Shown(
            DESK, lambda page: _post(page, f"{DESK}test/", idempotency_key=fresh_key(), **flaws)
        ),
    }


test_letters.__test__ = False  # type: ignore[attr-defined]


def _settle(number: int, **facts: Any) -> None:
    """What became of the one copy of a test letter."""
    copy = Delivery.objects.filter(issue__isnull=False, version=number).get(
        batch__edition__kind="test"
    )
    Delivery.objects.filter(pk=copy.pk).update(**facts)
    counts = {"waiting": 0, facts["outcome"]: 1}
    state = "unknown" if facts["outcome"] == "unknown" else "done"
    doubt = {"doubt_since": timezone.now()} if state == "unknown" else {}
    Batch.objects.filter(pk=copy.batch_id).update(**counts, state=state, **doubt)


# --- Watching -------------------------------------------------------------------------------------


def watching(author: Any) -> Pages:
    """An issue in the states that no other test shows, and the page of each question."""
    Newsletter.objects.the_one()
    Newsletter.objects.update(time_zone="Europe/Lisbon")
    held = _published(author, hold_s=3600)
    at = moment_of(timezone.now().replace(second=0) + timedelta(days=9), "Europe/Lisbon")
    scheduled = _published(author, at=at)
    gone = _published(author)
    cancelled(gone)
    doubtful = _published(author)
    in_doubt(doubtful)
    Batch.objects.filter(edition=doubtful).update(state="parked")
    missed = _published(author)
    sent(missed)
    copy = Delivery.objects.filter(issue=missed.issue_id).first()
    assert copy is not None
    Delivery.objects.filter(pk=copy.pk).update(
        outcome="failed", sent_at=None, evidence="", provider_message_id=None,
        reason=f"All 10 tries are used up. Last: {LONGEST}", missed=True,
    )  # fmt: skip
    batch = Batch.objects.get(pk=copy.batch_id)
    Batch.objects.filter(pk=batch.pk).update(sent=batch.sent - 1, failed=1, missed=1)
    corrected = _published(author)
    sent(corrected)
    sent(_published(author, issue=corrected.issue_id, version=2))
    of = {"held": held, "scheduled": scheduled, "doubtful": doubtful, "missed": missed}
    asked = {
        "held": ("call-back", "pause", "send-now", "cancel"),
        "scheduled": ("call-back", "send-now", "cancel"),
        "doubtful": ("ask-again", "send-doubtful", "cancel", "close"),
        "missed": ("send-to-missed", "close"),
    }
    page_of = {name: f"{DESK}{edition.issue_id}/" for name, edition in of.items()}
    return {
        **{name: Shown(address) for name, address in page_of.items()},
        "cancelled": Shown(f"{DESK}{gone.issue_id}/"),
        "its receipt": Shown(f"{DESK}{gone.issue_id}/receipt/"),
        "a correction": Shown(f"{DESK}{corrected.issue_id}/"),
        "an older version": Shown(f"{DESK}{corrected.issue_id}/?version=1"),
        "the missed": Shown(f"{page_of['missed']}?outcome=missed"),
        "nobody found": Shown(f"{page_of['missed']}?q={LONGEST_ADDRESS}"),
        "no receipt yet": Shown(f"{page_of['held']}receipt/"),
        **{
            f"{name}: {action}": Shown(f"{page_of[name]}{action}/")
            for name, actions in asked.items()
            for action in actions
        },
    }


def _check_a_receipt(text: Callable[[Page], str]) -> Callable[[Page], None]:
    def check(page: Page) -> None:
        page.get_by_label("The receipt’s whole text").fill(text(page))
        page.get_by_role("button", name="Check it").click()
        expect(page.locator("#found, #wrong").first).to_be_visible()

    return check


def receipts(author: Any) -> Pages:
    """What is said of a receipt that is checked."""
    ended = _published(author)
    sent(ended)
    there = f"{DESK}{ended.issue_id}/receipt/"

    def genuine(page: Page) -> str:
        page.request.get(there)
        return page.request.get(f"{there}receipt.json").text()

    def forged(page: Page) -> str:
        return genuine(page).replace('"audience":40', '"audience":41')

    return {
        "genuine": Shown(f"{DESK}receipts/", _check_a_receipt(genuine)),
        "not genuine": Shown(f"{DESK}receipts/", _check_a_receipt(forged)),
        "no receipt": Shown(f"{DESK}receipts/", _check_a_receipt(lambda _page: LONGEST)),
    }


GROUPS: Mapping[str, Callable[[Any], Pages]] = MappingProxyType(
    {
        "composer": composer,
        "pictures": pictures,
        "publishing": publishing,
        "second person": second_person,
        "test letters": test_letters,
        "watching": watching,
        "receipts": receipts,
    }
)


def _looked_at(page: Page, name: str, how: str) -> dict[str, object]:
    """What is wrong with the page as it stands."""
    assert page.get_by_role("heading", level=1).count() <= 1, name
    found: dict[str, object] = {f"axe, {how}: {name}": faults_found_by_axe(page)}
    if page.viewport_size == NARROWEST:
        found[f"scrolls sideways: {name}"] = scrolls_sideways(page)
    return {what: faults for what, faults in found.items() if faults}


WINDOWS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "light": {"color_scheme": "light"},
        "dark": {"color_scheme": "dark"},
        "phone": {"viewport": NARROWEST},
    }
)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", WINDOWS)
@pytest.mark.parametrize("group", GROUPS)
def test_every_page_is_for_everybody(
    new_page: Callable[..., Page],
    site: WebSite,
    author: Any,
    readers: list[Subscriber],
    group: str,
    how: str,
) -> None:
    pages = GROUPS[group](author)
    found: dict[str, object] = {}
    page = signed_in(new_page(**WINDOWS[how]), site, author)
    page.on("dialog", lambda dialog: dialog.accept())
    for name, shown in pages.items():
        page.unroute_all()
        page.goto(shown.address)
        shown.done(page)
        found |= _looked_at(page, name, how)
    assert found == {}


def test_who_waits_for_a_first_click_is_told_so_by_a_page_for_everybody(
    new_page: Callable[..., Page],
    site: WebSite,
    author: Any,
    readers: list[Subscriber],
    database_url: str,
) -> None:
    draft = _begun(author)
    found: dict[str, object] = {}
    with psycopg.connect(database_url, autocommit=True) as others:
        for seat in seats(author.pk, draft.key):  # they sit on every seat of this key
            others.execute("SELECT pg_advisory_lock(%s)", [seat])
        for how, options in WINDOWS.items():
            page = signed_in(new_page(**options), site, author)
            # It would look again by itself before it has been looked at.
            page.route("**/look-again.js", lambda route: route.abort())
            page.goto(f"{DESK}drafts/{draft.pk}/publish/")
            page.get_by_role("button", name="Publish to").click()
            _heading(page, "Still working on your first click")
            found |= _looked_at(page, "still working", how)
    assert found == {}


def test_a_press_after_the_draft_was_published_otherwise_leads_on_for_everybody(
    new_page: Callable[..., Page], site: WebSite, author: Any, readers: list[Subscriber]
) -> None:
    draft = _begun(author)
    windows = {
        how: signed_in(new_page(**options), site, author) for how, options in WINDOWS.items()
    }
    for page in windows.values():
        page.goto(f"{DESK}drafts/{draft.pk}/publish/")
        page.locator("[name=content]").evaluate("field => field.value = '0'.repeat(64)")
    first = signed_in(new_page(), site, author)
    first.goto(f"{DESK}drafts/{draft.pk}/publish/")
    first.get_by_role("button", name="Publish to").click()
    found: dict[str, object] = {}
    for how, page in windows.items():
        page.get_by_role("button", name="Publish to").click()
        _heading(page, "This draft was already published otherwise")
        found |= _looked_at(page, "already published", how)
    assert found == {}
    assert Edition.objects.count() == 1


def test_who_is_not_signed_in_or_not_allowed_is_told_so_by_a_page_for_everybody(
    new_page: Callable[..., Page], site: WebSite, author: Any
) -> None:
    nobody = get_user_model().objects.create_user(LONGEST, password="a long password")
    found: dict[str, object] = {}
    for how, options in WINDOWS.items():
        page = new_page(**options)
        page.goto("/admin/login/")
        page.get_by_label("User name").fill(LONGEST)
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_be_visible()
        found |= _looked_at(page, "sign in with an error", how)
        signed_in(page, site, nobody).goto(f"{DESK}issues/")
        _heading(page, "This page is not open to you")
        found |= _looked_at(page, "not allowed", how)
    assert found == {}


def _give(route: Route, *, body: str) -> None:
    route.fulfill(content_type="text/html", body=body)


def test_the_pages_of_an_error_are_for_everybody(
    new_page: Callable[..., Page], site: WebSite, author: Any
) -> None:
    """As they are where `DEBUG` is off; the site of these tests shows Django's own instead."""
    request = RequestFactory().get("/")
    client = Client()
    client.force_login(author)
    answers = {
        "not found": client.get(f"{DESK}drafts/{uuid.uuid4()}/", secure=True),
        "not found, signed out": Client().get(f"/{LONGEST}/", secure=True),
        "bad request": bad_request(request, ValueError()),
        "server error": server_error(request),
    }
    found: dict[str, object] = {}
    for how, options in WINDOWS.items():
        page = new_page(**options)
        for name, answer in answers.items():
            give = partial(_give, body=answer.content.decode())
            page.route(f"{site.url}/of-an-error/", give)
            page.goto("/of-an-error/")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            found |= _looked_at(page, name, how)
    assert found == {}
