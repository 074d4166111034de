"""
Which ids the batches of an edition have: the only place that numbers them.

A newsletter's are counted from the first of its range, by whoever holds the edition's lock. Mail on
request begins new batches without that lock, many at a time. It draws its numbers from a sequence,
and what is split off or sent again is numbered above all that the sequence gives
(docs/decisions/0015-mail-on-request.md).
"""

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
    """The id of the first batch of an edition."""
    return edition_id * BATCHES_PER_EDITION
