"""The queue: every change of a batch and every outcome of a delivery.

See docs/states.md. The queue never calls the provider and never chooses a retry time. Every
statement repeats the state and epoch that it relies on, and uses the database's clock. The queue
uses SQL instead of the ORM. The queue's guarantees need guarded transitions in one statement, `SKIP
LOCKED` in a CTE and `UPDATE … FROM unnest(…)`.
"""
