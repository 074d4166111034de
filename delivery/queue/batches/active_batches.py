"""The condition for open batches: something is left to do, or was missed and waits for a decision.
A query uses the index `batch_that_is_not_over` only if it repeats this condition word for word.
`state = 'ready'` must not imply it: a claim would then read that whole index."""

# A condition on the rows of `batch`, under that name. Word for word that of the index.
IS_OPEN = """CASE WHEN batch.state = 'done' AND batch.missed = 0
                    THEN 'over' ELSE 'not over' END = 'not over'"""
