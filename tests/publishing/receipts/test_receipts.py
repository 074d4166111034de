"""Receipts are made once, signed, protected from changes, and can be verified."""

import hashlib
import json
import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction

from delivery.models import Batch, Delivery, Edition, Newsletter
from publishing.editions.edition_status import load_status
from publishing.models import Receipt
from publishing.receipts.make_receipt import (
    NotAReceiptError,
    parse_receipt,
    receipt_of,
    receipt_refusal,
    sign_receipt,
)
from subscribers.data_requests.erase import erase
from subscribers.models import Subscriber
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import cancelled, in_doubt, sent
from tests.publishing.publish_with import publish
from tests.publishing.schedule_issue import tomorrow
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)

CHECK = "/admin/newsletters/receipts/"
GENUINE = "Genuine."
NO_ISSUES = ("x", 7, None, ["a"], "\0")


@pytest.fixture
def done(edition):
    """Return the edition after all three copies were sent."""
    sent(edition)
    return edition


def address(edition, more="receipt/"):
    return f"/admin/newsletters/{edition.issue_id}/{more}"


def downloaded(window, edition):
    """Return the receipt that the window downloads."""
    answer = window.get(address(edition, "receipt/receipt.json?version=1"))
    assert answer.status == 200
    return answer.answer.content.decode()


def test_the_receipt_holds_content_audience_counts_and_times(
    author, window, new_author, three_readers
):
    second = new_author("pauline", first_name="Pauline", last_name="Dunn")
    Newsletter.objects.get_current()
    Newsletter.objects.update(second_person=True)
    content = letter("On the patience of herons")
    done = publish(author.pk, "k", content, hold_s=0, approved_by=second.pk).edition
    sent(done)
    given = json.loads(downloaded(window, done))
    facts = given["receipt"]

    ids = sorted(Subscriber.objects.values_list("pk", flat=True))
    times = sorted(Delivery.objects.values_list("sent_at", flat=True))
    assert facts["audience_sha256"] == hashlib.sha256(
        "".join(f"{pk}\n" for pk in ids).encode()
    ).hexdigest()  # fmt: skip
    assert facts["content_sha256"] == bytes(done.content_hash).hex()
    assert (facts["issue"], facts["version"]) == (str(done.issue_id), 1)
    assert (facts["title"], facts["state"]) == ("On the patience of herons", "succeeded")
    counts = dict(facts["counts"])
    assert counts.pop("audience") == sum(counts.values()) == 3
    assert (counts["sent"], facts["message_ids"]) == (3, 3)
    assert facts["first_copy_at"] == times[0].isoformat(timespec="seconds")
    assert facts["last_copy_at"] == times[-1].isoformat(timespec="seconds")
    assert facts["ended_at"] >= facts["last_copy_at"] >= facts["published_at"]
    assert (facts["published_by"], facts["approved_by"]) == ("Edith Marlow", "Pauline Dunn")
    page = window.get(address(done))
    assert "Pauline Dunn" in page.words
    for digest in (given["signature"], facts["content_sha256"], facts["audience_sha256"]):
        assert digest in page.words.replace(" ", "")
    assert re.search(r'href="[^"]*/receipt/receipt.json\?version=1"', page.html)


def test_page_and_command_return_the_same_receipt(window, done, capsys):
    first = downloaded(window, done)
    Delivery.objects.update(sent_at=Delivery.objects.first().sent_at + timedelta(hours=1))

    assert downloaded(window, done) == first
    call_command("receipt", str(done.issue_id))
    assert capsys.readouterr().out == first
    assert Receipt.objects.count() == 1


def test_concurrent_requests_get_the_same_receipt(done):
    with transaction.atomic():
        Receipt.objects.bulk_create([sign_receipt({"title": "Theirs"}, done)])
        mine = beside(lambda: receipt_of(done))
        wait_until_somebody_waits(mine)

    assert mine.result(PATIENCE_S) == Receipt.objects.get()


def test_a_receipt_cannot_be_changed_or_deleted(done):
    receipt = receipt_of(done)

    for change in (
        lambda: Receipt.objects.update(text="{}"),
        lambda: Receipt.objects.update(made_at=receipt.made_at + timedelta(hours=1)),
        lambda: Receipt.objects.all().delete(),
    ):
        with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
            change()
    kept = Receipt.objects.get()
    assert (kept.text, kept.made_at) == (receipt.text, receipt.made_at)


def test_an_unfinished_issue_has_no_receipt(window, edition):
    page = window.get(address(edition))

    assert page.answer["Location"] == f"{address(edition, '')}?version=1"
    assert window.get(address(edition, "receipt/receipt.json")).status == 409
    with pytest.raises(CommandError):
        call_command("receipt", str(edition.issue_id))
    # A cancelled issue has no receipt as long as a copy is unconfirmed.
    sent(edition, "Ada")
    in_doubt(edition, "Bram")
    Edition.objects.filter(pk=edition.pk).update(control="cancelled", control_reason="Cancelled.")
    assert window.get(address(edition, "receipt/receipt.json")).status == 409
    assert not Receipt.objects.exists()


def test_the_receipt_of_a_cancelled_issue_counts_withdrawn_copies(window, edition):
    sent(edition, "Ada")
    cancelled(edition)
    edition.refresh_from_db()

    facts = json.loads(downloaded(window, edition))["receipt"]

    assert facts["state"] == "cancelled"
    assert (facts["counts"]["sent"], facts["counts"]["withdrawn"]) == (1, 2)
    assert facts["ended_at"] == edition.control_at.isoformat(timespec="seconds")


def test_the_receipt_of_a_called_back_issue_says_scheduled(author, window, three_readers):
    moment = tomorrow()
    waits = publish(author.pk, "k", letter(), hold_s=0, at=moment).edition
    call_command("edition", "call-back", str(waits.issue_id))

    page, issue = window.get(address(waits)), window.get(address(waits, ""))

    assert moment.words in page.words
    for words in (page.words, issue.words):
        assert "ublished by" not in words
        assert "was published" not in words
    # Every receipt needs `published_at`; here this field has the time of the cancellation.
    given = downloaded(window, waits)
    facts = json.loads(given)["receipt"]
    assert facts["published_at"] == facts["ended_at"]
    assert facts["first_copy_at"] is None
    assert (facts["state"], facts["counts"]["audience"]) == ("cancelled", 0)
    assert GENUINE in window.post(CHECK, receipt=given).words


def test_a_receipt_survives_its_authors_account(new_author, done):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_admin_log")
    done.author.delete()
    window = WindowOf(new_author("basil"))

    facts = json.loads(downloaded(window, done))["receipt"]

    assert facts["published_by"] == "a deleted account"
    assert "a deleted account" in window.get(address(done, "")).words


def test_transactional_mail_has_no_receipt(done):
    on_request = Edition(kind=Edition.Kind.CONFIRMATION)

    assert receipt_refusal(on_request, load_status(done.pk))
    assert receipt_refusal(done, load_status(done.pk)) == ""


def test_rows_that_differ_from_counts_prevent_a_receipt(window, done):
    Batch.objects.update(sent=2, withdrawn=1)

    page = window.get(address(done, "receipt/receipt.json"))

    assert page.status == 409
    assert f"./homing audit {done.issue_id}" in page.html


def test_erasing_a_reader_keeps_the_receipt_valid(window, done):
    given = downloaded(window, done)
    erase(Subscriber.objects.get(name="Ada").pk)

    page = window.post(CHECK, receipt=given)

    assert GENUINE in page.words
    assert "match this receipt" in page.words


def test_later_evidence_is_shown_with_the_receipt(window, edition):
    sent(edition, "Ada", "Bram")
    in_doubt(edition, "Cleo")
    Batch.objects.update(state="parked")
    Edition.objects.filter(pk=edition.pk).update(control="closed")
    given = downloaded(window, edition)
    Delivery.objects.filter(outcome="unknown").update(
        outcome="sent", sent_at=edition.published_at, evidence="webhook", provider_message_id="late"
    )
    Batch.objects.update(sent=3, unknown=0, state="done", bounced=1)

    page = window.get(address(edition))
    checked = window.post(CHECK, receipt=given)

    assert downloaded(window, edition) == given
    assert "Sent 3 2 " in page.words
    assert "Bounced 1 " in page.words
    assert GENUINE in checked.words
    assert "Sent 2 3" in checked.words
    assert "Unconfirmed 1 0" in checked.words


@pytest.mark.parametrize(
    ("word", "value", "shown"),
    [
        ("title", "Another", "Title Another"),
        ("state", "needs_attention", "State needs attention"),
        ("message_ids", 4, "Message IDs 4"),
        ("extra", True, "Extra True"),
    ],
)
def test_a_changed_receipt_is_not_genuine_and_shows_the_field(window, done, word, value, shown):
    given = json.loads(downloaded(window, done))
    given["receipt"][word] = value

    page = window.post(CHECK, receipt=json.dumps(given))

    assert "Not genuine." in page.words
    assert shown in page.words


@pytest.mark.parametrize("is_a_fallback", [False, True])
def test_a_receipt_is_genuine_while_its_key_is_known(window, done, settings, is_a_fallback):
    given = json.dumps(json.loads(downloaded(window, done)), indent=4)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY] * is_a_fallback
    settings.SECRET_KEY = "another key, which never signed anything at all here"
    # Changing the secret key signs all users out, so open a new window.
    later = WindowOf(window.author)

    assert (GENUINE in later.post(CHECK, receipt=given).words) == is_a_fallback
    page = later.get(address(done))
    assert ("signature does not match" in page.words) == (not is_a_fallback)


@pytest.mark.parametrize(
    "pasted",
    [
        "", "{", "[]", "7", "null", "[" * 5000, "x" * 20_001, '{"receipt": {}}',
        '{"receipt": 1, "signature": "x"}', '{"receipt": {}, "signature": 1}',
        '{"receipt": {"a": 1, "a": 2}, "signature": "x"}',
        '{"receipt": {"a": NaN}, "signature": "x"}',
        '{"receipt": {}, "signature": "x", "more": 1}',
        '{"receipt": {"title": "\\ud800"}, "signature": "x"}',
        '{"receipt": {}, "signature": "\\udfff"}',
    ],
)  # fmt: skip
def test_an_invalid_receipt_is_explained_and_kept_in_the_field(window, pasted):
    with pytest.raises(NotAReceiptError):
        parse_receipt(pasted)

    page = window.post(CHECK, receipt=pasted)

    assert page.status == 200
    assert re.search(r'class="error"[^>]*>This is', page.html)


def test_a_receipt_with_invalid_fields_is_not_genuine(window):
    known = "00000000-0000-4000-8000-000000000000"
    versions = [True, 0, -1, "1", 1.5, 2**31, 2**63, None, [1]]
    for issue, version in [*((known, v) for v in versions), *((i, 1) for i in NO_ISSUES)]:
        given = json.dumps({"receipt": {"issue": issue, "version": version}, "signature": "é"})
        assert "Not genuine." in window.post(CHECK, receipt=given).words


def test_receipt_of_a_newer_version_is_shown(window, done):
    newer = sign_receipt({"format": 2, "state": "archived", "rate": 7, "counts": {"sent": 3}})
    Receipt.objects.create(edition=done, text=newer.text, signature=newer.signature)

    page = window.get(address(done))

    assert page.status == 200
    assert "3 of 3 sent" in page.words
    assert "Archived" in page.words
