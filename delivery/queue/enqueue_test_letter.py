"""Enqueues a test letter, and loads those that were sent."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction

from delivery.mail.test_letter import TEST_ISSUE, TEST_RECIPIENT
from delivery.models import Edition
from delivery.queue.batches.new_batches import first_batch_id, insert_batches
from delivery.queue.enqueue_transactional import AHEAD_OF_ALL
from delivery.queue.erasure_lock import LOCK_ENQUEUE
from delivery.reader_fields import FIELD_COLUMNS
from delivery.rules.reason import Reason

# No two backups of one database are restored so close that both land on the same place.
NUMBERS_SKIPPED = 1_000
RANDOM_SKIPS = 1_000


class TestLetter(NamedTuple):
    """The one copy of a test letter, as the rows have it."""

    number: int
    address: str
    outcome: str
    reason: Reason | None
    sent_at: datetime | None
    delivered_at: datetime | None
    bounced_at: datetime | None
    complained_at: datetime | None
    batch_state: str
    batch_reason: Reason | None
    due_at: datetime
    control: str
    control_reason: Reason | None
    worker_is_there: bool
    author: str | None
    title: str
    requested_at: datetime


def next_number() -> int:
    """The number of the next test letter; each is given once."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('test_letter_number')")
        return int(cursor.fetchone()[0])


def skip_numbers() -> None:
    """Skip numbers that a restored database may have given out since its backup."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT setval('test_letter_number', nextval('test_letter_number')
                                                + %s * (1 + floor(random() * %s))::bigint)
            WHERE has_sequence_privilege('test_letter_number', 'UPDATE')
            """,
            [NUMBERS_SKIPPED, RANDOM_SKIPS],
        )


def enqueue_test(edition: Edition, address: str, fields: Sequence[str]) -> None:
    """Send the one copy of a test letter to `address`, before every newsletter. `fields` are the
    values of `READER_FIELDS`. Must be called inside the transaction that creates the edition."""
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError(
            "A test letter is enqueued in the transaction that makes it; there is none."
        )
    batch = first_batch_id(edition.pk)
    with connection.cursor() as cursor:
        # Whoever has themselves erased meanwhile waits for this, or this sees that they are gone.
        cursor.execute(LOCK_ENQUEUE)
        cursor.execute(
            f"""
            INSERT INTO delivery (issue_id, recipient_id, version, batch_id, outcome, address,
                                  {FIELD_COLUMNS})
            SELECT %s, %s, %s, %s, 'waiting', %s{", %s" * len(fields)}
            """,
            [edition.issue_id, TEST_RECIPIENT, edition.version, batch, address, *fields],
        )
        cursor.execute(
            insert_batches("SELECT %s::bigint, %s::bigint, %s, 'ready', clock_timestamp(), 1"),
            [batch, edition.pk, AHEAD_OF_ALL],
        )


def load_test_letter(number: int) -> TestLetter | None:
    """The test letter of this number; None if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT version, address, outcome, coalesce(delivery.reason, ''), sent_at, delivered_at,
                   bounced_at, complained_at, batch.state, batch.reason, batch.due_at, control,
                   control_reason,
                   EXISTS (SELECT FROM worker
                           WHERE heard_at > clock_timestamp() - interval '60 s'),
                   author_id::text, title, published_at
            FROM edition JOIN delivery USING (issue_id, version)
                 JOIN batch ON batch.id = batch_id
            WHERE issue_id = %s AND version = %s AND recipient_id = %s
            """,
            [TEST_ISSUE, number, TEST_RECIPIENT],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    letter = TestLetter(*row)
    return letter._replace(
        reason=Reason.loads(row[3]),
        batch_reason=Reason.loads(row[9]),
        control_reason=Reason.loads(row[12]),
    )


def test_letters_to(address_key: str) -> list[int]:
    """The numbers of the test letters to this case-folded address."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT version FROM delivery
            WHERE issue_id = %s AND recipient_id = %s AND lower(address) = %s ORDER BY version
            """,
            [TEST_ISSUE, TEST_RECIPIENT, address_key],
        )
        return [row[0] for row in cursor.fetchall()]
