"""The queue: every change of a batch, and every outcome of a delivery; see docs/states.md.

It never talks to Postmark and never chooses a retry time. Every statement repeats the state and
epoch it relies on, by the database's clock. SQL and not the ORM: the promises rest on guarded
transitions of one statement, `SKIP LOCKED` inside a CTE and `UPDATE … FROM unnest(…)`."""
