"""Django's PostgreSQL backend, which reports statements and commits to the watch."""
