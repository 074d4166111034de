"""A real PostgreSQL server that needs no installing, for development, the demo and the tests.

With no `DATABASE_URL`, `database_settings` makes this package Django's database backend. The first
process that connects starts the server in the data folder, all processes share it, and the last
one to leave stops it. The rules behind it: docs/decisions/0002-embedded-postgresql.md.

The way of a connection: `base` (Django's backend) → `users` (who is using the server) → `server`
(start, stop, is it up) → `cluster` (where it lives) with `binaries`, `server_user`,
`private_folder`, `initdb`, `locks` and `address` each knowing one thing.
"""

from newsletter_site.embedded_postgres.database_settings import database_settings, database_url
from newsletter_site.embedded_postgres.failure import EmbeddedPostgresError
from newsletter_site.embedded_postgres.private_folder import prepare_data_dir

__all__ = ["EmbeddedPostgresError", "database_settings", "database_url", "prepare_data_dir"]
