"""
The queue: the only code that changes a batch or a delivery.

It never talks to Postmark and never chooses a retry time; callers bring that decision
(`delivery/rules/retries.py`). One file for each transition of docs/states.md. Every statement
repeats
the state and the epoch it relies on, every time is the database's, and no transaction is ever
open while a call is in the air. Why SQL and not the ORM: guarded transitions of one statement,
`SKIP LOCKED` inside a CTE and `UPDATE … FROM unnest(…)` are what the promises rest on.
"""
