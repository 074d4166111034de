"""Transactional mail: the same queue, ahead of newsletters, on another stream."""

import io
import re
import uuid
from collections import Counter
from collections.abc import Sequence

import pytest
from django.db import IntegrityError, connection, transaction

from delivery.mail.transactional_mail_texts import CONFIRMATION_ISSUE, RECORD_ISSUE
from delivery.models import Attempt, Batch, Delivery, Edition, Newsletter
from delivery.queue.batches.insert_and_split import DRAWN_NUMBERS, first_batch_id, split_off
from delivery.queue.edition_control import pause, resume
from delivery.queue.enqueue_transactional import request_mail
from delivery.queue.short_transaction import lock_edition
from delivery.reconcile.reconcile_in_rounds import reconcile
from delivery.reports.audit import find_violations
from delivery.reports.load_edition_counts import load_counts
from delivery.reports.waiting_sentence import waiting_sentence
from delivery.rules.edition_state import EditionState, state_of
from delivery.worker.drain import Drain
from delivery.worker.step import renderer_of
from subscribers.models import Subscriber
from tests.delivery.edition_factory import Newsroom
from tests.publishing.second_connection import PATIENCE_S, beside

CONFIRMATION = Edition.Kind.CONFIRMATION
RECORD = Edition.Kind.RECORD


def sign_up(count: int, *, start: int = 0) -> list[Subscriber]:
    """Add this many readers who have not confirmed yet."""
    return Subscriber.objects.bulk_create(
        Subscriber(email=f"new{number}@example.net") for number in range(start, start + count)
    )


def request(
    people: Sequence[Subscriber], kind: str = CONFIRMATION, version: int = 1, *, ahead: bool = True
) -> Edition:
    """Request a mail to each of these readers, in a separate transaction."""
    with transaction.atomic():
        request_mail(kind, version, [(one.pk, one.email) for one in people], ahead=ahead)
    issue = CONFIRMATION_ISSUE if kind == CONFIRMATION else RECORD_ISSUE
    return Edition.objects.get(issue_id=issue, version=version)


def test_requested_mail_goes_first_in_the_queue(newsroom: Newsroom) -> None:
    (ada,) = sign_up(1)
    edition = request([ada])
    delivery = Delivery.objects.get(issue_id=CONFIRMATION_ISSUE)
    batch = Batch.objects.get(edition=edition)
    assert (delivery.recipient_id, delivery.version) == (ada.pk, 1)
    assert (delivery.address, delivery.name) == ("new0@example.net", "")
    assert (batch.pk, batch.position, batch.size, batch.waiting) == (
        delivery.batch_id,
        0,
        1,
        1,
    )
    assert (edition.kind, edition.stream, edition.audience) == (CONFIRMATION, "outbound", 0)


def test_an_empty_request_makes_no_edition(newsroom: Newsroom) -> None:
    with transaction.atomic():
        request_mail(CONFIRMATION, 1, [], ahead=True)
    assert not Edition.objects.exists()


def test_a_request_outside_a_transaction_is_refused(newsroom: Newsroom) -> None:
    with pytest.raises(transaction.TransactionManagementError, match="No transaction is open"):
        request_mail(CONFIRMATION, 1, [(1, "ada@example.net")], ahead=True)


def test_database_refuses_a_second_request_of_one_version(newsroom: Newsroom) -> None:
    people = sign_up(1)
    request(people)
    with pytest.raises(IntegrityError, match="delivery_pkey"):
        request(people)
    request(people, version=2)
    request(people, RECORD)
    assert Delivery.objects.count() == 3


def test_many_requests_are_cut_into_batches(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_BATCH_SIZE = 4  # type: ignore[attr-defined]
    edition = request(sign_up(10), ahead=False)
    sizes = (
        Batch.objects.filter(edition=edition).order_by("position").values_list("size", "position")
    )
    assert list(sizes) == [(4, 1), (4, 2), (2, 3)]
    assert find_violations([edition.pk]) == []


def test_two_first_requests_at_once_share_one_edition(newsroom: Newsroom) -> None:
    first, second = sign_up(2)
    with transaction.atomic():
        request_mail(CONFIRMATION, 1, [(first.pk, first.email)], ahead=True)
        other = beside(lambda: request([second]))
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
    other.result(PATIENCE_S)
    assert Delivery.objects.filter(issue_id=CONFIRMATION_ISSUE).count() == 2
    assert Edition.objects.count() == 1


def test_sign_ups_do_not_wait_for_one_another(newsroom: Newsroom) -> None:
    first, second, third = sign_up(3)
    request([first])
    with transaction.atomic():
        request_mail(CONFIRMATION, 1, [(second.pk, second.email)], ahead=True)
        # The other request ends while this transaction is open, so no request waits for another.
        beside(lambda: request([third])).result(PATIENCE_S)
    assert Delivery.objects.count() == 3


def test_batch_number_in_use_is_skipped(newsroom: Newsroom) -> None:
    people = sign_up(3)
    edition = request(people[:1])
    used = Batch.objects.get().pk
    draw_next(used - first_batch_id(edition.pk))
    request(people[1:2])
    assert Batch.objects.count() == 2


def test_batch_numbers_start_again_after_the_last(newsroom: Newsroom) -> None:
    people = sign_up(2)
    draw_next(DRAWN_NUMBERS - 1)
    edition = request(people[:1])
    request(people[1:])
    numbers = sorted(batch.pk - first_batch_id(edition.pk) for batch in Batch.objects.all())
    assert numbers == [0, DRAWN_NUMBERS - 1]


def draw_next(number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('batch_on_request', %s, false)", [number])


def test_a_confirmation_mail_as_postmark_gets_it(newsroom: Newsroom) -> None:
    newsletter = Newsletter.objects.get_current()
    newsletter.name, newsletter.reply_to = "Tides & Swifts", "ada@example.org"
    newsletter.postal_address = "4 Tannery Lane"
    newsletter.save()
    (ada,) = sign_up(1)
    request([ada])
    newsroom.deliver_all()
    mail = newsroom.sandbox.outbox.message(0)
    key = f"{CONFIRMATION_ISSUE.hex}.1.{ada.pk}"
    link = mail.item["TextBody"].split("Confirm:\n")[1].split("\n")[0]
    assert {name: mail.item[name] for name in ("To", "Subject", "Tag", "MessageStream")} == {
        "To": "new0@example.net",
        "Subject": "Confirm your subscription to Tides & Swifts",
        "Tag": "confirmation",
        "MessageStream": "outbound",
    }
    assert mail.item["ReplyTo"] == "ada@example.org"
    # The mail has no List- headers, because it belongs to no mailing list.
    message_id, *others = mail.item["Headers"]
    assert others == [
        {"Name": "X-PM-KeepID", "Value": "true"},
        {"Name": "Auto-Submitted", "Value": "auto-generated"},
    ]
    assert (message_id["Name"], message_id["Value"][: len(key) + 2]) == ("Message-ID", f"<{key}@")
    assert mail.metadata == {"delivery": key, "attempt": Attempt.objects.get().pk.hex}
    assert link.startswith("https://letter.example.org/subscriptions/confirm/?subscription_token=")
    assert mail.item["HtmlBody"].count(f'href="{link}"') == 2
    assert "Tides &amp; Swifts · 4 Tannery Lane" in mail.item["HtmlBody"]
    assert mail.item["TextBody"].endswith("Tides & Swifts · 4 Tannery Lane\n")
    assert Attempt.objects.get().stream == "outbound"


@pytest.mark.parametrize(
    ("kind", "tag", "page"),
    [(CONFIRMATION, "confirmation", "/subscriptions/confirm/"), (RECORD, "record", "/record/")],
)
def test_each_kind_has_its_tag_and_link(newsroom: Newsroom, kind: str, tag: str, page: str) -> None:
    (ada,) = sign_up(1)
    Subscriber.objects.update(name="Buy at evil.example")
    request([ada], kind)
    newsroom.deliver_all()
    item = newsroom.sandbox.outbox.message(0).item
    assert item["Tag"] == tag
    assert f"https://letter.example.org{page}" in item["TextBody"]
    for part in (item["Subject"], item["HtmlBody"], item["TextBody"]):
        assert "{{" not in part
        assert "evil.example" not in part


def test_mail_uses_the_newsletter_name_at_sending_time(newsroom: Newsroom) -> None:
    first, second = sign_up(2)
    dispatcher = newsroom.dispatcher()
    Newsletter.objects.get_current()
    for person, name in ((first, "Old Letter"), (second, "New Letter")):
        Newsletter.objects.update(name=name)
        request([person])
        assert dispatcher.step()
    subjects = [newsroom.sandbox.outbox.message(number).item["Subject"] for number in (0, 1)]
    assert subjects == [
        "Confirm your subscription to Old Letter",
        "Confirm your subscription to New Letter",
    ]


def test_confirmations_go_before_a_huge_newsletter(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_BATCH_SIZE = 5  # type: ignore[attr-defined]
    huge = newsroom.publish(readers=100)
    newsroom.step()
    for person in sign_up(30):
        request([person])
    dispatcher = newsroom.dispatcher()
    while Batch.objects.filter(position=0, waiting__gt=0).exists():
        assert dispatcher.step()
    assert load_counts(huge.pk).sent == 5
    assert Delivery.objects.filter(issue_id=CONFIRMATION_ISSUE, outcome="sent").count() == 30


def test_imported_requests_alternate_with_a_letter(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_BATCH_SIZE = 5  # type: ignore[attr-defined]
    letter = newsroom.publish(readers=50)
    imported = request(sign_up(200), ahead=False)
    dispatcher = newsroom.dispatcher()
    while load_counts(letter.pk).waiting:
        assert dispatcher.step()
    # For each sent batch of the letter, at most one batch of the import's mails was sent.
    assert load_counts(imported.pk).sent <= 50
    assert load_counts(imported.pk).sent >= 45


def test_a_request_to_a_paused_edition_waits_without_a_call(newsroom: Newsroom) -> None:
    first, second = sign_up(2)
    edition = request([first])
    assert pause(edition.pk)
    request([second])
    assert find_violations([edition.pk]) == []
    newsroom.deliver_all()
    assert not Attempt.objects.exists()
    assert Counter(Batch.objects.values_list("state", flat=True)) == {"paused": 2}
    assert resume(edition.pk)
    newsroom.deliver_all()
    assert load_counts(edition.pk).sent == 2


@pytest.mark.parametrize("end", ["cancelled", "closed"])
def test_confirmation_edition_never_ends(newsroom: Newsroom, end: str) -> None:
    edition = request(sign_up(1))
    with pytest.raises(IntegrityError, match="mail_on_request_never_ends"):
        Edition.objects.filter(pk=edition.pk).update(control=end)


def test_split_batches_are_numbered_above_all_drawn_numbers(newsroom: Newsroom) -> None:
    people = sign_up(4)
    edition = request(people)
    batch = Batch.objects.get().pk
    ids = []
    for person in people[:2]:
        with transaction.atomic(), connection.cursor() as cursor:
            lock_edition(cursor, edition.pk)
            ids.append(split_off(cursor, batch, edition.pk, [person.pk]))
    above = first_batch_id(edition.pk) + DRAWN_NUMBERS
    assert ids == [above, above + 1]
    assert find_violations([edition.pk]) == []


def test_fault_stops_confirmations_without_losing_any(newsroom: Newsroom) -> None:
    edition = request(sign_up(3))
    newsroom.sandbox.set_fault("whole_422", calls=1, code=412)
    newsroom.deliver_all()
    counts = load_counts(edition.pk)
    assert state_of(counts) is EditionState.NEEDS_ATTENTION
    assert "approved" in waiting_sentence(counts)
    assert counts.waiting == 3
    output = io.StringIO()
    _, awaits_decision = Drain(output, is_terminal=False).totals()
    assert awaits_decision
    assert output.getvalue().startswith("A decision is needed for Confirmation mail: ")
    assert resume(edition.pk)
    newsroom.deliver_all()
    assert state_of(load_counts(edition.pk)) is EditionState.SUCCEEDED


def test_missed_transactional_mail_needs_no_operator(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_MAX_ATTEMPTS = 1  # type: ignore[attr-defined]
    edition = request(sign_up(1))
    newsroom.sandbox.set_fault("item_error", code=100, calls=1)
    newsroom.deliver_all()
    counts = load_counts(edition.pk)
    assert (counts.missed, counts.failed) == (1, 1)
    assert state_of(counts) is EditionState.SUCCEEDED


def test_until_empty_counts_the_requests_open_at_its_start(newsroom: Newsroom) -> None:
    people = sign_up(6)
    request(people[:1])
    newsroom.deliver_all()
    newsroom.publish(readers=2)
    request(people[1:3])
    watch = Drain(io.StringIO(), is_terminal=False)
    request(people[3:])
    newsroom.deliver_all()
    assert watch.is_drained()
    counts, _ = watch.totals()
    assert counts == dict.fromkeys(counts, 0) | {"editions": 2, "audience": 4, "sent": 4}


@pytest.mark.parametrize("reconciled", [False, True], ids=["look-up", "reconcile"])
def test_unconfirmed_confirmation_mail_is_found_by_look_up(
    newsroom: Newsroom, reconciled: bool
) -> None:
    edition = request(sign_up(2))
    newsroom.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.deliver_all()
    assert load_counts(edition.pk).unknown == 2
    if reconciled:
        # The search uses the tag of this kind of mail.
        outcome = reconcile(CONFIRMATION_ISSUE, waits=False, start_sent=bool, report_progress=len)
        assert [report.recorded for report in outcome.reports] == [2]
    else:
        # The search uses the mail's stream, not its tag.
        newsroom.deliver_after(60)
    assert load_counts(edition.pk).sent == 2
    assert {copy.evidence for copy in newsroom.copies(edition)} == {"lookup"}
    assert newsroom.sandbox.outbox.counts()["accepted"] == 2


def test_open_edition_is_sent_in_the_current_look_and_language(newsroom: Newsroom) -> None:
    (ada,) = sign_up(1)
    edition = request([ada])
    assert 'dir="ltr"' in edition.html_mail
    Newsletter.objects.update_or_create(
        pk=1, defaults={"accent": "#7a1f5c", "language": "ar", "layout": "plain"}
    )
    sent = renderer_of(edition).body([(ada.pk, ada.email, "")], uuid.uuid4()).decode()
    assert "background-color:#7a1f5c" in sent
    assert r"lang=\"ar\" dir=\"rtl\"" in sent
    again = renderer_of(edition).body([(ada.pk, ada.email, "")], uuid.uuid4()).decode()
    assert re.sub(r'"attempt":"\w+"', "", again) == re.sub(r'"attempt":"\w+"', "", sent)
