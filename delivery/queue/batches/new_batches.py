"""Numbers and inserts batches. Each edition has a range of ids
(docs/decisions/0015-mail-on-request.md)."""

from delivery.models.batch import BATCHES_PER_EDITION

# What the sequence `batch_on_request` gives, before it begins again: 0 to 983,039.
DRAWN_NUMBERS = 15 * (1 << 16)

# The id of the next batch of the edition `%(edition)s`, for whoever holds the edition's lock.
NEXT_BATCH_ID = f"""(
    SELECT greatest((SELECT max(batch.id) + 1 FROM batch
                     WHERE batch.id >= edition.id * {BATCHES_PER_EDITION}
                       AND batch.id < (edition.id + 1) * {BATCHES_PER_EDITION}),
                    edition.id * {BATCHES_PER_EDITION}
                        + CASE WHEN kind = 'newsletter' THEN 0 ELSE {DRAWN_NUMBERS} END)
    FROM edition WHERE edition.id = %(edition)s)"""  # noqa: S608 -- constants


def first_batch_id(edition_id: int) -> int:
    """The id of an edition's first batch."""
    return edition_id * BATCHES_PER_EDITION


def insert_batches(rows: str, *more_columns: str) -> str:
    """The SQL that inserts a batch for each of `rows`; everything in it waits. `rows` selects id,
    edition, position, state, due time and size, then `more_columns`."""
    columns = ", ".join(("id", "edition_id", "position", "state", "due_at", "size", *more_columns))
    return f"""
        INSERT INTO batch ({columns}, waiting)
        SELECT {columns}, size FROM ({rows}) AS new ({columns})
    """  # noqa: S608 -- the columns are constants
