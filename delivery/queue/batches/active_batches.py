"""
The condition for open batches: something is left to do, or was missed and waits for a decision.

They are few, however much was ever sent, and have an index of their own (`batch_that_is_not_over`),
which a query uses only if it repeats this condition word for word. Ready batches are open too, but
their queries must not use that index: if the planner could conclude “open” from `state = 'ready'`,
it would, with old statistics, read the whole index for each claim. From these words it can conclude
nothing, and it keeps no statistics of them.
"""

# A condition on the rows of `batch`, under that name. Word for word that of the index.
IS_OPEN = """CASE WHEN batch.state = 'done' AND batch.missed = 0
                    THEN 'over' ELSE 'not over' END = 'not over'"""
