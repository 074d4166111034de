"""Enqueue test letters, and load test letters that were sent."""

from collections.abc import Sequence

from django.db import connection
from django.db.models.functions import Lower

from delivery.mail.mark_test_letter import TEST_ISSUE, TEST_RECIPIENT
from delivery.models import Batch, Delivery, Edition
from delivery.queue.batches.insert_and_split import first_batch_id
from delivery.queue.enqueue_transactional import AHEAD_OF_ALL
from delivery.queue.erasure_lock import LOCK_ENQUEUE
from delivery.queue.short_transaction import require_transaction

# These limits are so large that two restores of one database do not skip to the same number.
NUMBERS_SKIPPED = 1_000
RANDOM_SKIPS = 1_000


def next_number() -> int:
    """Draw the number of the next test letter or invitation; none is used twice."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('test_letter_number')")
        return int(cursor.fetchone()[0])


def skip_numbers() -> None:
    """Skip numbers that a restored database may have used since its backup."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT setval('test_letter_number', nextval('test_letter_number')
                                                + %s * (1 + floor(random() * %s))::bigint)
            WHERE has_sequence_privilege('test_letter_number', 'UPDATE')
            """,
            [NUMBERS_SKIPPED, RANDOM_SKIPS],
        )


def enqueue_test(
    edition: Edition, address: str, name: str, fields: Sequence[str] | None = None
) -> None:
    """Send the one copy of a test letter to `address`, before every newsletter.

    `fields` are the values of the edition's `merge_fields`. Must be called inside the transaction
    that creates the edition.
    """
    require_transaction()
    with connection.cursor() as cursor:
        # Either a concurrent erasure waits for this transaction, or this transaction waits for the
        # erasure.
        cursor.execute(LOCK_ENQUEUE)
    batch = Batch.objects.create(
        id=first_batch_id(edition.pk), edition=edition, position=AHEAD_OF_ALL, size=1, waiting=1
    )
    Delivery.objects.create(
        issue_id=edition.issue_id,
        recipient_id=TEST_RECIPIENT,
        version=edition.version,
        batch=batch,
        address=address,
        name=name,
        fields=fields or None,
    )


def load_test_letter(number: int) -> Delivery | None:
    """Load the delivery of this test letter with its batch and edition, if any."""
    letters = Delivery.objects.select_related("batch__edition")
    return letters.filter(issue=TEST_ISSUE, version=number, recipient=TEST_RECIPIENT).first()


def test_letters_to(address_key: str) -> list[int]:
    """List the numbers of the test letters to this case-folded address."""
    letters = Delivery.objects.filter(issue=TEST_ISSUE, recipient=TEST_RECIPIENT)
    found = letters.annotate(key=Lower("address")).filter(key=address_key)
    return list(found.order_by("version").values_list("version", flat=True))
