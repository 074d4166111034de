"""The queue snapshot reads only open batches, and shows every fault."""

import json
import uuid
from typing import Any

from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from delivery.models import Batch, Edition
from delivery.queue.batches.insert_and_split import DRAWN_NUMBERS, first_batch_id
from delivery.queue.enqueue_transactional import request_mail
from delivery.reports.queue_snapshot import MAX_EDITIONS, MAX_NAMED, QueueSnapshot, read_snapshot
from delivery.rules.edition_state import EditionState, state_of
from tests.delivery.edition_factory import Newsroom

OVER = 30_000


def current_snapshot() -> QueueSnapshot:
    with connection.cursor() as cursor:
        return read_snapshot(cursor)


def states() -> list[EditionState]:
    return [state_of(counts) for counts in current_snapshot().editions]


def requested_mail() -> Batch:
    with transaction.atomic():
        request_mail("confirmation", 1, [(1, "ada@example.net")], ahead=True)
    return Batch.objects.get(edition__kind="confirmation")


def add_finished_batches(edition: int, number: int) -> None:
    """Add mails for past requests: one failed, the others were sent."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO batch (id, edition_id, position, state, epoch, due_at, tries,
                               deferrals, crashes,
                               lookups, reason, size, waiting, sent, unknown, suppressed, withdrawn,
                               failed, missed)
            SELECT %(after)s + number, %(edition)s, 0, 'done', 1, now(), 0, 0, 0,
                   0, '', 1, 0, (number > 1)::int, 0, 0, 0, (number = 1)::int, (number = 1)::int
            FROM generate_series(1, %(number)s) AS number
            """,
            # Use numbers above those that transactional mail uses during a test.
            {
                "edition": edition,
                "after": first_batch_id(edition) + DRAWN_NUMBERS,
                "number": number,
            },
        )
        cursor.execute("ANALYZE batch, edition")


def rows_read_by(plan: dict[str, Any]) -> int:
    """Count the rows that a plan reads from tables and indexes, also rows it discards."""
    own = sum(
        plan.get(name, 0)
        for name in ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
        if "Relation Name" in plan or "Index Name" in plan
    )
    return int(own * plan["Actual Loops"]) + sum(map(rows_read_by, plan.get("Plans", ())))


def rows_read() -> int:
    with CaptureQueriesContext(connection) as asked:
        current_snapshot()
    number = 0
    for query in asked.captured_queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query['sql']}")
            found = cursor.fetchone()[0]
        [plan] = json.loads(found) if isinstance(found, str) else found
        number += rows_read_by(plan["Plan"])
    return number


def test_finished_mail_on_request_is_not_read_while_one_waits(newsroom: Newsroom) -> None:
    batch = requested_mail()
    add_finished_batches(batch.edition_id, OVER)
    assert states() == [EditionState.SENDING]
    assert rows_read() < 100


def test_finished_transactional_mail_is_not_read(newsroom: Newsroom) -> None:
    batch = requested_mail()
    add_finished_batches(batch.edition_id, OVER)
    Batch.objects.filter(pk=batch.pk).update(state="done", waiting=0, sent=1)
    assert states() == []
    assert rows_read() < 100


def test_finished_issues_calls_and_events_are_not_read(newsroom: Newsroom) -> None:
    mail, over = requested_mail(), newsroom.publish(1)
    add_finished_batches(mail.edition_id, OVER)
    Batch.objects.exclude(state="done").update(state="done", waiting=0, sent=1)
    columns = [one.attname for one in Edition._meta.local_concrete_fields if not one.primary_key]
    facts = {column: getattr(over, column) for column in columns} | {"idempotency_key": None}
    Edition.objects.bulk_create(Edition(**facts | {"issue_id": uuid.uuid4()}) for _ in range(3000))
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO attempt (id, batch_id, edition_id, stream, epoch, worker, messages,
                                 started_at, deadline_at, finished_at, result, detail, accepted)
            SELECT gen_random_uuid(), id, edition_id, 'broadcast', 1, gen_random_uuid(), 1,
                   now() - interval '2 days', now() - interval '2 days',
                   now() - interval '2 days', 'answered', '', 1
            FROM batch;
            INSERT INTO provider_event (body_hash, kind, body, applied_at)
            SELECT sha256(number::text::bytea), 'Delivery', '{}', now()
            FROM generate_series(1, 20000) AS number;
            ANALYZE batch, edition, provider_event, alarm, attempt
            """
        )
    newsroom.publish(3)
    assert states() == [EditionState.SENDING]
    assert rows_read() < 1000  # of 3,000 issues, 20,000 events and 30,000 calls


def test_running_newsletter_has_complete_counts(newsroom: Newsroom) -> None:
    edition = newsroom.publish(3, batch_size=2)
    sent = newsroom.batches(edition)[0]
    Batch.objects.filter(pk=sent.pk).update(state="done", waiting=0, sent=sent.size)
    [counts] = current_snapshot().newest
    assert (counts.audience, counts.sent, counts.waiting) == (3, sent.size, 3 - sent.size)


def test_failed_test_letters_do_not_hide_an_issue_that_stopped(newsroom: Newsroom) -> None:
    newsroom.confirm(1)
    stopped = newsroom.publish(title="Stopped")
    Edition.objects.filter(pk=stopped.pk).update(control="stopped", control_reason="No such token.")
    missed = newsroom.publish(title="Missed")
    Batch.objects.filter(edition=missed).update(state="done", waiting=0, failed=1, missed=1)
    for number in range(MAX_EDITIONS):
        test = Edition.objects.get(pk=missed.pk)
        test.pk, test.issue_id, test.idempotency_key = None, uuid.uuid4(), None
        test.kind, test.title = Edition.Kind.TEST, f"Test letter {number}"
        test.save(force_insert=True)
        add_finished_batches(test.pk, 1)
    assert states() == [EditionState.NEEDS_ATTENTION] * 2


def test_cancelled_issue_without_calls_is_not_open(newsroom: Newsroom) -> None:
    edition = newsroom.publish(1)
    Batch.objects.filter(edition=edition).update(state="done", waiting=0, failed=1, missed=1)
    assert states() == [EditionState.NEEDS_ATTENTION]
    Edition.objects.filter(pk=edition.pk).update(control="cancelled")
    assert states() == []


def test_paused_editions_come_before_the_newest(newsroom: Newsroom) -> None:
    newsroom.confirm(1)
    stopped = newsroom.publish(title="Stopped")
    Edition.objects.filter(pk=stopped.pk).update(control="stopped", control_reason="No such token.")
    letters = [newsroom.publish(title=f"Letter {number}").pk for number in range(MAX_EDITIONS)]
    now = current_snapshot()
    assert stopped.pk in {counts.edition for counts in now.editions}
    # Only the newest issues are listed, because adding up all batches of an issue is expensive.
    assert {counts.edition for counts in now.newest} == set(letters[-MAX_NAMED:])
