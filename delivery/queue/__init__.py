"""The queue: every change of a batch and every outcome of a delivery.

See docs/states.md. It never calls Postmark and never chooses a retry time. Every statement repeats
the state and epoch it relies on, by the database's clock. It uses SQL instead of the ORM. Its
guarantees need guarded transitions in one statement, `SKIP LOCKED` inside a CTE and `UPDATE … FROM
unnest(…)`.
"""
