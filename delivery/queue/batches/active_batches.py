"""
Which batches are not over: something of them is left to do, or was missed and waits for a person.

They are few, however much was ever sent, and have an index of their own (`batch_that_is_not_over`).
It is for whoever looks through what is not over, and serves a query that says IS_OPEN in these
very words. A batch in line is not over either; were that to be concluded from `state = 'ready'`,
the planner would read this index from end to end in place of the line's first entry, whenever its
statistics are of a time with little in line: each claim would read all that waits. From these words
nothing is concluded, and nothing leads to them. And no statistics are kept of them: they are taken
for few, always.
"""

from __future__ import annotations

# A condition on the rows of `batch`, under that name. Word for word that of the index.
IS_OPEN = """CASE WHEN batch.state = 'done' AND batch.missed = 0
                    THEN 'over' ELSE 'not over' END = 'not over'"""
