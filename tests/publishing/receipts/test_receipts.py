"""The receipt of an issue: made once at its end, signed, never changed, checked by anybody."""

import hashlib
import json
import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction

from delivery.models import Batch, Delivery, Edition
from publishing.editions.status import load_status
from publishing.models import Receipt
from publishing.publish.publish import publish
from publishing.receipts.receipts import (
    NotAReceiptError,
    diff_receipts,
    is_genuine,
    parse_receipt,
    receipt_as_json,
    receipt_of,
    receipt_refusal,
    sign_receipt,
)
from subscribers.data_requests.erase import erase
from subscribers.models import Subscriber
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import cancelled, in_doubt, sent
from tests.publishing.schedule_issue import tomorrow

pytestmark = pytest.mark.django_db(transaction=True)

CHECK = "/admin/newsletters/receipts/"
GENUINE = "Genuine."
NO_ISSUES = ("x", 7, None, ["a"], "\0")


@pytest.fixture
def done(edition):
    """All three have it."""
    sent(edition)
    return edition


def address(edition, more="receipt/"):
    return f"/admin/newsletters/{edition.issue_id}/{more}"


def downloaded(window, edition):
    """The receipt as a file."""
    answer = window.get(address(edition, "receipt/receipt.json?version=1"))
    assert answer.status == 200
    return answer.answer.content.decode()


def test_it_says_what_went_out_to_whom_and_when_and_the_counts_add_up(window, new_author, done):
    second = new_author("pauline", first_name="Pauline", last_name="Dunn")
    Edition.objects.filter(pk=done.pk).update(approved_by=second)
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


def test_it_is_made_once_and_is_the_same_whoever_asks_and_however(window, done, capsys):
    first = downloaded(window, done)
    Delivery.objects.update(sent_at=Delivery.objects.first().sent_at + timedelta(hours=1))

    assert downloaded(window, done) == first
    call_command("receipt", str(done.issue_id))
    assert capsys.readouterr().out == first
    assert Receipt.objects.count() == 1


def test_no_receipt_is_changed_or_taken_away(done):
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


def test_before_the_end_there_is_none_and_the_page_says_why(window, edition):
    page = window.get(address(edition))

    assert page.answer["Location"] == f"{address(edition, '')}?version=1"
    assert window.get(address(edition, "receipt/receipt.json")).status == 409
    with pytest.raises(CommandError):
        call_command("receipt", str(edition.issue_id))
    # Cancelled, it waits for the answer about a copy that left.
    sent(edition, "Ada")
    in_doubt(edition, "Bram")
    Edition.objects.filter(pk=edition.pk).update(control="cancelled", control_reason="Cancelled.")
    assert window.get(address(edition, "receipt/receipt.json")).status == 409
    assert not Receipt.objects.exists()


def test_a_cancelled_issue_has_one_that_says_whom_it_did_not_reach(window, edition):
    sent(edition, "Ada")
    cancelled(edition)
    edition.refresh_from_db()

    facts = json.loads(downloaded(window, edition))["receipt"]

    assert facts["state"] == "cancelled"
    assert (facts["counts"]["sent"], facts["counts"]["withdrawn"]) == (1, 2)
    assert facts["ended_at"] == edition.control_at.isoformat(timespec="seconds")


def test_of_one_that_was_called_back_before_its_time_it_says_scheduled_and_never_published(
    author, window, three_readers
):
    moment = tomorrow()
    waits = publish(author.pk, "k", letter(), hold_s=0, at=moment).edition
    call_command("edition", "call-back", str(waits.issue_id))

    page, issue = window.get(address(waits)), window.get(address(waits, ""))

    assert moment.words in page.words
    for words in (page.words, issue.words):
        assert "ublished by" not in words
        assert "was published" not in words
    # What is signed stays as in every receipt before: the time is that of the end.
    given = downloaded(window, waits)
    facts = json.loads(given)["receipt"]
    assert facts["published_at"] == facts["ended_at"]
    assert facts["first_copy_at"] is None
    assert (facts["state"], facts["counts"]["audience"]) == ("cancelled", 0)
    assert GENUINE in window.post(CHECK, receipt=given).words


def test_its_author_may_be_gone_by_then(new_author, done):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_admin_log")
    done.author.delete()
    window = WindowOf(new_author("basil"))

    facts = json.loads(downloaded(window, done))["receipt"]

    assert facts["published_by"] == "a deleted account"
    assert "a deleted account" in window.get(address(done, "")).words


def test_mail_on_request_has_none(done):
    on_request = Edition(kind=Edition.Kind.CONFIRMATION)

    assert receipt_refusal(on_request, load_status(done.pk))
    assert receipt_refusal(done, load_status(done.pk)) == ""


def test_where_rows_and_books_differ_there_is_none(window, done):
    Batch.objects.update(sent=2, withdrawn=1)

    page = window.get(address(done, "receipt/receipt.json"))

    assert page.status == 409
    assert f"./homing audit {done.issue_id}" in page.html


def test_the_audience_is_the_same_after_somebody_was_erased(window, done):
    given = downloaded(window, done)
    erase(Subscriber.objects.get(name="Ada").pk)

    page = window.post(CHECK, receipt=given)

    assert GENUINE in page.words
    assert "row by row" in page.words


def test_proof_that_came_later_stands_beside_it_and_not_in_it(window, edition):
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
    assert "Unknown 1 0" in checked.words


@pytest.mark.parametrize(
    ("word", "value"),
    [("title", "Another"), ("state", "closed"), ("message_ids", 4), ("extra", True)],
)
def test_a_receipt_with_another_word_in_it_is_not_genuine_and_the_word_is_named(
    window, done, word, value
):
    given = json.loads(downloaded(window, done))
    given["receipt"][word] = value

    page = window.post(CHECK, receipt=json.dumps(given))

    assert "Not genuine." in page.words
    assert f"{word.replace('_', ' ').capitalize()} {value}" in page.words


@pytest.mark.parametrize("is_a_fallback", [False, True])
def test_a_receipt_is_genuine_as_long_as_its_key_is_known(window, done, settings, is_a_fallback):
    given = json.dumps(json.loads(downloaded(window, done)), indent=4)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY] * is_a_fallback
    settings.SECRET_KEY = "another key, which never signed anything at all here"
    # The change signs everybody out.
    later = WindowOf(window.author)

    assert (GENUINE in later.post(CHECK, receipt=given).words) == is_a_fallback
    page = later.get(address(done))
    assert ("signature does not match" in page.words) == (not is_a_fallback)


def test_a_receipt_of_an_issue_that_is_not_here_may_still_be_genuine(window):
    given = receipt_as_json(
        sign_receipt({"issue": "00000000-0000-4000-8000-000000000000", "version": 1})
    )

    page = window.post(CHECK, receipt=given)

    assert GENUINE in page.words


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
def test_what_is_no_receipt_is_said_so_in_one_sentence_and_kept_in_the_field(window, pasted):
    with pytest.raises(NotAReceiptError):
        parse_receipt(pasted)

    page = window.post(CHECK, receipt=pasted)

    assert page.status == 200
    assert re.search(r'class="error"[^>]*>This is', page.html)


def test_a_receipt_that_names_nonsense_is_still_answered(window):
    known = "00000000-0000-4000-8000-000000000000"
    versions = [True, 0, -1, "1", 1.5, 2**31, 2**63, None, [1]]
    for issue, version in [*((known, v) for v in versions), *((i, 1) for i in NO_ISSUES)]:
        given = json.dumps({"receipt": {"issue": issue, "version": version}, "signature": "é"})
        assert "Not genuine." in window.post(CHECK, receipt=given).words


def test_what_differs_is_named_with_both_sides():
    one = {"title": "A", "counts": {"sent": 2, "unknown": 1}, "message_ids": 2}
    other = {"title": "A", "counts": {"sent": 3, "unknown": 0}, "message_ids": 3}

    assert diff_receipts(one, one) == []
    assert diff_receipts(one, other) == [("message ids", 2, 3), ("sent", 2, 3), ("unknown", 1, 0)]


def test_receipt_of_a_newer_version_is_shown(window, done):
    newer = sign_receipt({"format": 2, "state": "archived", "rate": 7, "counts": {"sent": 3}})
    Receipt.objects.create(edition=done, text=newer.text, signature=newer.signature)

    page = window.get(address(done))

    assert page.status == 200
    assert "3 of 3 sent" in page.words
    assert "Archived" in page.words


def test_two_who_ask_at_once_get_the_same_one(done):
    first = receipt_of(done)
    with connection.cursor() as cursor:  # what another process would do that saw none either
        cursor.execute(
            "INSERT INTO receipt (edition_id, text, signature) VALUES (%s, 'x', 'x') "
            "ON CONFLICT DO NOTHING",
            [done.pk],
        )

    assert receipt_as_json(receipt_of(done)) == receipt_as_json(first)
    assert is_genuine(first)
