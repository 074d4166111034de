"""
Migrations that run beside workers that send: `manage.py migrate`, and what a migration may do.

`patience` decides how long to wait; `schema_editor` asks for locks with little patience; `watch`
sees what a migration waits for, and `holders` says it; `guard` lets one run migrate at a time;
`reaching` says whether a database that does not answer is worth waiting for.
docs/decisions/0027-change-without-stopping.md has the reasons.
"""
