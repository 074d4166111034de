"""Whether a database that cannot be reached is worth waiting for."""

from __future__ import annotations

# What no waiting changes. A server says it in these words, and gives no code with them.
FOR_GOOD = (
    "authentication failed",
    "does not exist",
    "no pg_hba.conf entry",
    "no password supplied",
    "permission denied",
    "not permitted to log in",
    "certificate",
)


def may_come(words: str) -> bool:
    """
    Whether a failure to connect, in the words of the driver, may pass: a server that starts, a
    name that is not known yet. One that has no account or no database for us does not pass.
    """
    return not any(phrase in words for phrase in FOR_GOOD)


def in_one_line(words: str) -> str:
    """The driver's words, which are several lines, as one without its full stop."""
    return " ".join(words.split()).rstrip(".")
