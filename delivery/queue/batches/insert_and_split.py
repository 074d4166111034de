"""Insert and split batches, and compute their sizes and ids.

Each edition has a range of batch ids (docs/decisions/0015-mail-on-request.md).
"""

from collections.abc import Sequence

from django.db.backends.utils import CursorWrapper
from django.db.models import F, QuerySet

from delivery.models import Batch, Delivery, Edition
from delivery.models.batch import BATCHES_PER_EDITION
from delivery.models.delivery import Outcome

LARGEST_BATCH_BYTES = 20 * 1024 * 1024
# A generous size for the keys, headers, metadata and links of one message, without its content.
MESSAGE_OVERHEAD_BYTES = 2_000
# The sequence `batch_on_request` gives 0 to 983,039, then begins again.
DRAWN_NUMBERS = 15 * (1 << 16)

# The id of the next batch of the edition `%(edition)s`. The caller must hold the edition's lock.
NEXT_BATCH_ID = f"""(
    SELECT greatest((SELECT max(batch.id) + 1 FROM batch
                     WHERE batch.id >= edition.id * {BATCHES_PER_EDITION}
                       AND batch.id < (edition.id + 1) * {BATCHES_PER_EDITION}),
                    edition.id * {BATCHES_PER_EDITION}
                        + CASE WHEN kind = 'newsletter' THEN 0 ELSE {DRAWN_NUMBERS} END)
    FROM edition WHERE edition.id = %(edition)s)"""  # noqa: S608 -- constants


def batch_size_for(edition: Edition, limit: int) -> int:
    """Compute the messages per batch: `limit`, or fewer to keep a call under 20 MB.

    The size of the call is estimated from its JSON.
    """
    content = len(edition.html_mail.encode()) + len(edition.text_mail.encode())
    message = MESSAGE_OVERHEAD_BYTES + content + content // 8
    return max(1, min(limit, LARGEST_BATCH_BYTES // message))


def first_batch_id(edition_id: int) -> int:
    """Return the id of an edition's first batch."""
    return edition_id * BATCHES_PER_EDITION


def insert_batches(rows: str, *more_columns: str) -> str:
    """Write the SQL that inserts a batch of waiting deliveries for each of `rows`.

    `rows` selects id, edition, position, state, due time and size, then `more_columns`.
    """
    columns = ", ".join(("id", "edition_id", "position", "state", "due_at", "size", *more_columns))
    return f"""
        INSERT INTO batch ({columns}, waiting)
        SELECT {columns}, size FROM ({rows}) AS new ({columns})
    """  # noqa: S608 -- the columns are constants


def split_off(cursor: CursorWrapper, batch: int, edition: int, recipients: Sequence[int]) -> int:
    """Move waiting deliveries of `recipients` into a new batch; return its id.

    The new batch keeps the position, due time and tries of `batch`, and starts with a crash count
    of 0. The caller holds the edition's lock and the batch's row. Raises `AssertionError` if a
    delivery was not waiting.
    """
    rows = f"""
        SELECT {NEXT_BATCH_ID}, edition_id, position,
               CASE WHEN control = 'running' THEN 'ready' ELSE 'paused' END, due_at, %(size)s::int,
               tries, deferrals, reason
        FROM batch JOIN edition ON edition.id = edition_id WHERE batch.id = %(batch)s
    """  # noqa: S608 -- a constant
    cursor.execute(
        f"{insert_batches(rows, 'tries', 'deferrals', 'reason')} RETURNING id",
        {"edition": edition, "batch": batch, "size": len(recipients)},
    )
    (new,) = cursor.fetchone()
    moved = waiting_deliveries(batch).filter(recipient__in=recipients).update(batch=new)
    if moved != len(recipients):
        raise AssertionError(f"{moved} of {len(recipients)} deliveries were waiting")
    Batch.objects.filter(pk=batch).update(size=F("size") - moved, waiting=F("waiting") - moved)
    return int(new)


def waiting_deliveries(batch: int) -> QuerySet[Delivery]:
    """Select the waiting deliveries of a batch."""
    return Delivery.objects.filter(batch=batch, outcome=Outcome.WAITING)


def waiting_recipients(batch: int) -> list[int]:
    """List the recipients of the waiting deliveries of a batch, in order."""
    found = waiting_deliveries(batch).order_by("recipient")
    return list(found.values_list("recipient_id", flat=True))


def halve(cursor: CursorWrapper, batch: int, edition: int) -> None:
    """Move the second half of the waiting deliveries of `batch` into a new batch.

    Both batches start with a crash count of 0.
    """
    recipients = waiting_recipients(batch)
    split_off(cursor, batch, edition, recipients[(len(recipients) + 1) // 2 :])
    Batch.objects.filter(pk=batch).update(crashes=0)
