"""The only error of the embedded PostgreSQL: one sentence for the person at the terminal."""


class EmbeddedPostgresError(Exception):
    """The embedded server cannot be had; the text says what was found and what to do."""
