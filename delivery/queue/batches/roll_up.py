"""Roll up the counts of finished batches, so that pages read few rows.

The batches keep their counts. `batch_total` holds the sums of the batches that are marked as rolled
up. The mark and the sum change in one statement, here and in the trigger on `batch`, so every
snapshot shows each batch once.
"""

from delivery.plan_methods import plan_without
from delivery.queue.short_transaction import short_transaction

BATCHES_AT_ONCE = 2_000

ROLLED_UP = ("size", "sent", "suppressed", "withdrawn", "failed", "bounced", "complained")
_COLUMNS = ", ".join(ROLLED_UP)

# Use this sub-query in place of the table `batch` to sum counts. The query must have a condition
# for the edition.
COUNTED_BATCHES = f"""(
    SELECT edition_id, state, {_COLUMNS}, waiting, unknown FROM batch WHERE NOT rolled_up
    UNION ALL
    SELECT edition_id, 'done', {_COLUMNS}, 0, 0 FROM batch_total
) AS batch"""  # noqa: S608 -- constants

# A locked batch is being changed, so it is left for the next run. The old sums of an edition are
# merged into its new sum, so an edition keeps few rows.
_ROLL_UP = f"""
    WITH finished AS (
        SELECT id FROM batch
        WHERE NOT rolled_up AND state = 'done' AND missed = 0 AND unknown_since IS NULL
        LIMIT %s FOR NO KEY UPDATE SKIP LOCKED
    ), rolled AS (
        UPDATE batch SET rolled_up = true WHERE id = ANY (ARRAY(SELECT id FROM finished))
        RETURNING edition_id, {_COLUMNS}
    ), merged AS (
        DELETE FROM batch_total WHERE id = ANY (ARRAY(
            SELECT id FROM batch_total WHERE edition_id IN (SELECT edition_id FROM rolled)
            FOR UPDATE SKIP LOCKED))
        RETURNING edition_id, {_COLUMNS}
    ), added AS (
        INSERT INTO batch_total (edition_id, {_COLUMNS})
        SELECT edition_id, {", ".join(f"sum({name})" for name in ROLLED_UP)}
        FROM (SELECT * FROM rolled UNION ALL SELECT * FROM merged) AS part
        GROUP BY edition_id
    )
    SELECT count(*) FROM rolled
"""  # noqa: S608 -- constants


def roll_up_finished(*, at_once: int = BATCHES_AT_ONCE) -> int:
    """Roll up all finished batches, in short transactions; return how many there were."""
    total = 0
    while True:
        with short_transaction() as cursor:
            # A lost commit is harmless: the next run does the work again.
            cursor.execute("SET LOCAL synchronous_commit = off")
            # Use the index of finished batches, even if the statistics are out of date.
            with plan_without(cursor, "enable_seqscan"):
                cursor.execute(_ROLL_UP, [at_once])
                rolled = int(cursor.fetchone()[0])
        total += rolled
        if rolled < at_once:
            return total
