"""Test letters pass from the form through the queue to the provider."""

import hashlib
import io
import re
from datetime import UTC
from urllib.parse import unquote

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection, transaction
from django.test import RequestFactory

from delivery.interface import database_time, load_test_letter
from delivery.mail.mark_test_letter import TEST_ISSUE, TEST_RECIPIENT
from delivery.models import Delivery, Edition, ProviderEvent
from delivery.reconcile.database_identity import declare_restored
from delivery.reports.audit import find_violations
from delivery.reports.load_edition_counts import load_all_counts
from idempotency.fingerprint import form_hash
from idempotency.key import fresh_key
from idempotency.models import PostedForm
from publishing.content.draft_content import MARKDOWN, DraftFields, build_content
from publishing.drafts import save_draft
from publishing.models import Draft
from publishing.progress.issue_list import newest_editions
from publishing.publish.publish_edition import publish
from publishing.test_letters.send_test_letter import is_settled, letter_sentence
from publishing.test_letters.send_test_letter_view import FIELDS
from subscribers.data_requests.erase import erase
from subscribers.data_requests.personal_data import load_personal_data
from subscribers.delivery_hooks import RegisteredReaders
from subscribers.models import Bounce, ConsentRecord, Subscriber, Suppression, Tag
from tests.delivery.webhook_events import PASSWORD, USER, event, key_of, post
from tests.publishing.author_browser import FORM, LETTER, WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

TEST = f"{FORM}test/"
TO = "willa@elsewhere.example"
JSON = {"Accept": "application/json"}
COMPOSED = {
    "title": "Swifts leave, {{ name|reader }}",
    "preheader": "They have gone",
    "format": "markdown",
    "letter": "Dear {{ name|reader }}, they have *gone*.",
    "text_content": "Dear {{ name|reader }}, they have gone.",
}


@pytest.fixture(autouse=True)
def credentials_are_set(settings):
    """Set the user and password of the webhooks."""
    settings.POSTMARK_WEBHOOK_USER = USER
    settings.POSTMARK_WEBHOOK_PASSWORD = PASSWORD


def form(**changes):
    """Return the filled-in plain form with an address for the test letter."""
    return {**LETTER, "idempotency_key": "a form", "test_email": TO, **changes}


def sent_as_tests():
    return Edition.objects.filter(kind=Edition.Kind.TEST)


def the_copy():
    return Delivery.objects.get(issue=TEST_ISSUE)


def came_back(kind="HardBounce", **facts):
    """Return the webhook event for the bounce or complaint of the only test letter."""
    key = key_of(sent_as_tests().get(), TEST_RECIPIENT)
    facts = {"Type": kind, "Email": TO, "ID": 4711, "Suppressed": True, **facts}
    record = "SpamComplaint" if kind == "SpamComplaint" else "Bounce"
    return event(key, the_copy().provider_message_id, record_type=record, **facts)


def the_letter():
    return load_test_letter(sent_as_tests().get().version)


def its_sentence():
    return letter_sentence(the_letter(), database_time(), UTC)


def items(sandbox):
    return [
        sandbox.sandbox.outbox.message(n).item for n in range(sandbox.sandbox.summary()["accepted"])
    ]


def test_a_test_letter_is_one_marked_mail_to_its_address(window, three_readers, worker, provider):
    answer = window.post(TEST, **form())
    worker.deliver_all()

    number = sent_as_tests().get().version
    assert (answer.status, answer.answer["Location"]) == (303, f"{TEST}{number}/")
    (item,) = items(provider)
    assert item["To"] == TO
    assert item["Subject"] == "[Test] Swifts leave without saying goodbye"
    assert item["MessageStream"] == "broadcast"
    # The address belongs to no reader, so the letter has the fallbacks.
    assert "Dear reader," in item["HtmlBody"]
    assert "Dear reader," in item["TextBody"]
    assert (the_copy().outcome, the_copy().recipient_id) == ("sent", TEST_RECIPIENT)
    page = window.get(f"{TEST}{number}/")
    assert re.search(r"\d\d:\d\d:\d\d", page.words)
    assert TO in page.words
    assert window.get(f"{TEST}4711/").status == 404
    # The test letter is in no list of issues, not in the archive, and not in the activity log.
    assert not newest_editions().exists()
    assert not LogEntry.objects.exists()
    for lists in (f"{FORM}issues/", "/archive/"):
        assert LETTER["title"] not in window.get(lists).words
    # The counts of the test letter add up, and the two commands find no problem.
    assert not find_violations([sent_as_tests().get().pk])
    for command in ("reconcile", "audit"):
        call_command(command, stdout=io.StringIO(), stderr=io.StringIO())


@pytest.mark.parametrize("posted", [LETTER, COMPOSED], ids=["the plain form", "the composer"])
def test_a_test_letter_differs_from_a_readers_only_in_links(
    window, author, worker, provider, posted
):
    ada = SubscriberFactory(email="Ada@posthouse.example", name="Ada & Co")
    content = build_content(
        DraftFields(
            title=posted["title"],
            preview_text=posted.get("preheader", ""),
            format=posted.get("format", "html"),
            letter=posted.get("letter", posted.get("html_content")),
            text=posted["text_content"],
        )
    )
    Tag.objects.create(name="Birds", is_topic=True)
    window.post(TEST, **posted, idempotency_key="k", test_email="ada@posthouse.example")
    publish(author.pk, "key", content, hold_s=0)
    worker.deliver_all()

    test, real = items(provider)
    assert test["Subject"] == f"[Test] {real['Subject']}"
    readers = RegisteredReaders()

    def without_links(item, recipient, archive):
        (link,) = readers.unsubscribe_urls([recipient])
        (topics,) = readers.preferences_urls([recipient])
        parts = [item["HtmlBody"], item["TextBody"], str(item["Headers"][3:])]
        assert all(link in part for part in parts)
        assert topics in parts[0]
        for url, name in ((link, "LEAVE"), (topics, "TOPICS"), (archive, "ARCHIVE")):
            parts = [part.replace(url, name) for part in parts]
        return parts

    edition = Edition.objects.get(kind="newsletter")
    assert without_links(
        test, TEST_RECIPIENT, "https://letter.example.org/archive/"
    ) == without_links(real, ada.pk, edition.archive_url)
    assert {k: test[k] for k in ("From", "MessageStream", "TrackOpens")} == {
        k: real[k] for k in ("From", "MessageStream", "TrackOpens")
    }
    assert [header["Name"] for header in test["Headers"]] == [
        header["Name"] for header in real["Headers"]
    ]


def test_a_test_of_html_has_a_text_part(window, worker, provider):
    html = {**window.open_form(), "text_content": " \n", "test_email": TO}
    window.post(TEST, **html)
    sheet = window.post(f"{FORM}drafts/", **html, then="check").answer["Location"]
    worker.deliver_all()

    (item,) = items(provider)
    assert "they have gone." in item["TextBody"]
    assert f"A test was sent to {TO}" in window.get(sheet).words


def test_pressing_again_during_the_first_press_sends_one_test(window, settings):
    settings.IDEMPOTENCY_WAIT_S = 2.0

    def press():
        return window.another().post(TEST, **form())

    with transaction.atomic():  # the first post waits until this row is unlocked
        get_user_model().objects.select_for_update().get(pk=window.author.pk)
        first = beside(press)
        wait_until_somebody_waits()
        busy = beside(press).result(PATIENCE_S)
    sent = first.result(PATIENCE_S)

    assert (sent.status, busy.status) == (303, 409)
    again = busy.form_with("test_email")
    answer = window.post(again.action, **again.fields)
    assert answer.answer["Location"] == sent.answer["Location"]
    assert sent_as_tests().count() == 1


@pytest.mark.parametrize(
    "changed",
    [{"title": "Swallows"}, {"text_content": "Others."}, {"test_email": "cleo@elsewhere.example"}],
)
def test_form_sends_one_test_per_content_and_stays_publishable(window, three_readers, changed):
    fields = {**window.open_form(), "test_email": TO}
    first, second = window.post(TEST, **fields), window.post(TEST, **fields)
    assert (first.status, second.status) == (303, 303)
    assert first.answer["Location"] == second.answer["Location"]
    assert sent_as_tests().count() == 1

    window.post(TEST, **{**fields, **changed})
    assert window.post(TEST, **{**fields, "idempotency_key": ""}).status == 400

    assert sent_as_tests().count() == 2
    assert window.post(FORM, **fields).status == 303
    assert Edition.objects.filter(kind="newsletter").count() == 1


def plain_fingerprint():
    """Compute the hash of an address as an attacker without the secret key would."""
    return form_hash(RequestFactory().post(TEST, form()), FIELDS)


def test_stored_fingerprints_reveal_no_address_without_the_secret_key(window):
    window.post(TEST, **form())
    [row] = PostedForm.objects.all()
    plain = plain_fingerprint()

    assert bytes(row.request_fingerprint) != plain
    guessed = hashlib.sha256(b"a form" + plain).hexdigest()[:40]
    assert row.idempotency_key != f"test-{guessed}"


def test_repeated_test_is_recognised_under_a_fallback_secret_key(window, settings):
    first = window.post(TEST, **form())
    [row] = PostedForm.objects.all()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, made after the first one leaked"

    assert window.post(TEST, **form()).answer["Location"] == first.answer["Location"]
    assert sent_as_tests().count() == 1
    assert PostedForm.objects.get().idempotency_key == row.idempotency_key


@pytest.mark.parametrize(
    ("posted", "field"),
    [
        (form(title=""), "title"),
        (form(html_content="{{ nmae }}"), "html_content"),
        (form(test_email=""), "test_email"),
        (form(test_email="a@b.example, c@d.example"), "test_email"),
        (form(**COMPOSED) | {"letter": "", "text_content": ""}, "letter"),
        (form(**COMPOSED) | {"letter": "a\n" * 150_000}, "letter"),
    ],
)
def test_error_is_named_and_all_text_is_kept(window, posted, field):
    page = window.post(TEST, **posted)

    assert page.status == 200
    again = page.form_with("test_email").fields
    for name in ("title", "text_content"):
        assert again[name] == posted[name]
    response = window.client.post(TEST, posted, secure=True, headers=JSON)
    assert set(response.json()["errors"]) == {field}
    assert not sent_as_tests().exists()


def test_tests_per_hour_are_limited(window, new_author, settings):
    settings.TESTS_PER_HOUR = 2
    for number in range(2):
        assert window.post(TEST, **form(idempotency_key=f"{number}")).status == 303

    page = window.post(TEST, **form(idempotency_key="third"))
    assert page.status == 429
    assert "You have sent 2 test letters within an hour" in page.words
    assert sent_as_tests().count() == 2
    # Posting the same form again gets its first answer. Another author has a separate limit.
    assert window.post(TEST, **form(idempotency_key="0")).status == 303
    other = WindowOf(new_author("otto", "write_draft"))
    assert other.post(TEST, **form()).status == 303
    # The refusal is not stored under the key, so the same form sends its test an hour later.
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE edition SET published_at = published_at - interval '1 hour', "
            "held_until = held_until - interval '1 hour'"
        )
    assert window.post(TEST, **form(idempotency_key="third")).status == 303


@pytest.mark.parametrize("is_a_script", [True, False])
def test_the_page_of_a_test_letter_links_to_its_draft(window, author, is_a_script):
    words = DraftFields(title="Swifts", format=MARKDOWN, letter="They have gone.")
    draft = save_draft.create(author.pk, fresh_key(), words).draft
    composer = f"{FORM}drafts/{draft.pk}/"
    posted = form(next=composer)
    if is_a_script:
        answer = window.client.post(TEST, posted, secure=True, headers=JSON)
        address = answer.json()["address"]
    else:
        assert window.post(TEST, **posted).answer["Location"] == composer
        (address,) = re.findall(rf'href="({TEST}[^"]+)"', window.get(composer).html)

    page = window.get(address)

    assert f'href="{composer}">Back to the letter</a>' in page.html
    assert f'href="{address}">Refresh</a>' in page.html
    # After the draft is deleted, the page of the test letter has no link to the draft.
    draft.delete()
    for named in (address, f"{address.partition('?')[0]}?draft=../../log/"):
        page = window.get(named)
        assert page.status == 200
        assert f"{FORM}drafts/" not in page.html


@pytest.mark.parametrize(
    "named",
    [
        "https://elsewhere.example/admin/newsletters/",
        "//elsewhere.example/admin/newsletters/",
        "/\\elsewhere.example",
        "javascript:alert(1)",
        "/admin/logout/",
        "https://testserver/admin/newsletters/",
    ],
)
def test_a_test_letter_ignores_foreign_or_unsafe_return_addresses(window, named):
    page = window.post(TEST, **form(next=named))

    assert page.answer["Location"] == f"{TEST}{sent_as_tests().get().version}/"


def test_script_gets_the_address_and_state_of_the_test(window, worker):
    response = window.client.post(TEST, form(), secure=True, headers=JSON)

    assert response.status_code == 200
    address = response.json()["address"]
    state = window.client.get(address, secure=True, headers=JSON).json()
    assert (state["outcome"], state["settled"], state["to"]) == ("waiting", False, TO)
    worker.deliver_all()
    state = window.client.get(address, secure=True, headers=JSON).json()
    assert (state["outcome"], state["settled"]) == ("sent", True)


def test_suppressed_address_gets_no_test_and_page_explains_it(window, worker, provider):
    Suppression.objects.create(address_key=TO, reason="complaint", origin="provider")
    window.post(TEST, **form(test_email="Willa@elsewhere.example"))
    worker.deliver_all()

    assert not items(provider)
    assert the_letter().outcome == "suppressed"
    assert its_sentence() == "Not sent: The address is on the suppression list."


@pytest.mark.parametrize(
    ("address", "state", "outcome"),
    [(TO, "unsubscribed", "sent"), ("invalid@bounce.example", "confirmed", "failed")],
)
def test_reader_state_does_not_affect_a_test_or_change(window, worker, address, state, outcome):
    SubscriberFactory(email=address, state=state)
    window.post(TEST, **form(test_email=address))
    worker.deliver_all()

    assert the_letter().outcome == outcome
    assert Subscriber.objects.get().state == state
    assert not ConsentRecord.objects.filter(act="bounced").exists()


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "item_error", "code": 400},
        {"kind": "item_error", "code": 300},
        {"kind": "unauthorized_401"},
        {"kind": "whole_422", "code": 400},
    ],
)
def test_account_fault_is_shown_at_once(window, worker, provider, fault):
    provider.sandbox.set_fault(calls=None, **fault)
    window.post(TEST, **form())
    worker.deliver_all()

    assert (the_letter().outcome, is_settled(the_letter())) == ("failed", True)
    assert sent_as_tests().get().control == "running"
    assert not load_all_counts(open_only=True)
    assert not find_violations([sent_as_tests().get().pk])


def test_test_that_was_never_accepted_is_resent_under_any_policy(
    window, worker, provider, settings
):
    settings.DELIVERY_UNKNOWN_POLICY = "hold"
    provider.sandbox.set_fault("reset", calls=1)
    window.post(TEST, **form())
    worker.step()
    for _ in range(4):
        worker.let_time_pass(1000)
        worker.deliver_all()

    assert the_letter().outcome == "sent"
    assert len(items(provider)) == 1


def test_the_link_of_a_test_letter_unsubscribes_nobody(window, worker, provider, three_readers):
    window.post(TEST, **form(test_email="ada@posthouse.example"))
    worker.deliver_all()
    (item,) = items(provider)
    link = next(h["Value"] for h in item["Headers"] if h["Name"] == "List-Unsubscribe")[1:-1]
    path = link.removeprefix("https://letter.example.org")
    assert path != link

    stranger = WindowOf(None)
    for answer in (
        stranger.get(path),
        stranger.post(path),
        stranger.post(path, **{"List-Unsubscribe": "One-Click"}),
    ):
        assert answer.status == 200
        assert "This link is from a test letter" in answer.words
    assert set(Subscriber.objects.values_list("state", flat=True)) == {"confirmed"}
    assert not ConsentRecord.objects.exists()


@pytest.mark.parametrize("kind", ["HardBounce", "SpamComplaint"])
@pytest.mark.parametrize("by", ["metadata", "tag"])
def test_bounce_of_a_test_changes_no_reader(window, worker, settings, kind, by):
    settings.DELIVERY_SURGE_BOUNCES_LEAST = 1
    reader = SubscriberFactory(email=TO)
    window.post(TEST, **form())
    worker.deliver_all()
    edition = sent_as_tests().get()
    bounce = came_back(kind, Tag=f"issue-{TEST_ISSUE.hex}" if by == "tag" else "")
    if by == "tag":
        del bounce["Metadata"]
    before = its_sentence()

    assert post(bounce) == 200

    reader.refresh_from_db()
    assert reader.state == "confirmed"
    assert not Suppression.objects.exists()
    assert not Bounce.objects.exists()
    assert ProviderEvent.objects.get().applied_at is not None
    assert its_sentence() != before
    assert sent_as_tests().get().control == "running"
    assert not find_violations([edition.pk])


def test_after_a_restored_backup_no_number_is_given_twice(window, worker):
    window.post(TEST, **form())
    before = sent_as_tests().get().version

    declare_restored()
    window.post(TEST, **form(idempotency_key="another form"))

    assert sent_as_tests().order_by("-version").first().version >= before + 1000


def test_data_request_includes_the_test_and_erasure_removes_its_address(window, worker):
    reader = SubscriberFactory(email=TO, name="Willa")
    window.post(TEST, **form(test_email="WILLA@elsewhere.example"))
    window.post(TEST, **form(test_email="otto@elsewhere.example"))
    worker.deliver_all()

    mails = load_personal_data(reader.pk).mails
    assert [mail["title"] for mail in mails] == ["[Test] Swifts leave without saying goodbye"]
    assert erase(reader.pk)

    left = Delivery.objects.filter(issue=TEST_ISSUE).values_list("address", "name")
    assert sorted(left) == [("", ""), ("otto@elsewhere.example", "")]
    held = str(
        list(PostedForm.objects.values_list("response_body", "response_headers", "messages"))
    )
    assert "willa" not in held.lower()


def test_queued_test_is_not_sent_to_an_erased_reader(window, worker, provider):
    reader = SubscriberFactory(email=TO)
    window.post(TEST, **form())
    erase(reader.pk)
    worker.deliver_all()

    assert not items(provider)
    assert its_sentence() == "Not sent: The address was deleted before this mail was sent."
    assert not find_violations([sent_as_tests().get().pk])


def test_events_after_an_erasure_restore_no_data(window, worker):
    reader = SubscriberFactory(email=TO)
    window.post(TEST, **form())
    worker.deliver_all()
    bounce = came_back()
    erase(reader.pk)

    assert post(bounce) == 200

    assert not ProviderEvent.objects.exists()
    assert not Suppression.objects.exists()


def test_a_test_letter_posted_signed_out_is_kept(window):
    plain = {**window.open_form(), "test_email": TO}
    composers = window.get(f"{FORM}write/").form_with("letter").fields | COMPOSED
    window.client.logout()

    assert window.post(TEST, **plain).status == 302
    answer = window.post(TEST, **{**composers, "test_email": TO})

    assert set(Draft.objects.values_list("format", "letter")) == {
        ("html", plain["html_content"]),
        ("markdown", COMPOSED["letter"]),
    }
    kept = Draft.objects.get(format="markdown")
    assert f"{FORM}drafts/{kept.pk}/" in unquote(answer.answer["Location"])
    window.client.force_login(window.author)
    assert window.get(TEST).answer["Location"] == FORM


def test_faulty_next_version_posted_signed_out_is_kept(window, author, three_readers):
    issue = publish(author.pk, "k", letter(), hold_s=0).edition.issue_id
    choices = {"goes_to": "reached", "unlisted": "on", "test_email": ""}
    composers, plain = (
        window.post(TEST, **{**window.get(address).form_with("text_content").fields, **choices})
        for address in (f"{FORM}write/?issue={issue}", f"{FORM}?issue={issue}")
    )
    window.client.logout()

    for refused in (composers, plain):
        again = refused.form_with("test_email")
        assert window.post(again.action, **again.fields).status == 302

    for draft in Draft.objects.all():
        assert (draft.issue_id, draft.goes_to, draft.unlisted) == (issue, "reached", True)
    assert Draft.objects.count() == 2


def test_test_form_older_than_session_returns_with_text(window):
    words = COMPOSED
    window.client.handler.enforce_csrf_checks = True

    answer = window.post(TEST, **words, idempotency_key="a form", test_email=TO)

    assert answer.status == 403
    assert "Nothing was sent" in answer.words
    again = answer.form_with("title").fields
    assert {name: again[name] for name in words} == words
    assert again["test_email"] == TO
    # The form keeps its key, so pressing the button again cannot send a second test letter.
    assert again["idempotency_key"] == "a form"
    assert not sent_as_tests()


def test_the_form_has_the_address_of_the_last_test(window, new_author):
    window.post(TEST, **form(test_email="first@elsewhere.example"))
    window.post(TEST, **form(idempotency_key="second", test_email=TO))
    other = WindowOf(new_author("otto", "publish_edition", email="otto@elsewhere.example"))
    draft = window.post(f"{FORM}drafts/", **COMPOSED, idempotency_key="d").answer["Location"]

    for address in (FORM, f"{FORM}write/", draft):
        assert window.get(address).form_with("title").fields["test_email"] == TO
        own = other.get(address).form_with("title").fields["test_email"]
        assert own == "otto@elsewhere.example"


def test_a_test_shows_no_reader_without_permission(new_author, worker, provider):
    SubscriberFactory(email="Ada@posthouse.example", name="Ada")
    writer = WindowOf(new_author("otto", "write_draft"))
    page = writer.post(TEST, **form(test_email="ada@posthouse.example"))
    worker.deliver_all()

    assert "To ada@posthouse.example" in writer.get(page.answer["Location"]).words
    (item,) = items(provider)
    assert "Dear reader," in item["TextBody"]
