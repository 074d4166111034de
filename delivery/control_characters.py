"""Control characters, line separators and marks of direction, which names exclude."""

import re

# Explicit ranges, because PostgreSQL's [[:cntrl:]] depends on the collation.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# The same for a constraint, without NUL, which PostgreSQL cannot store.
POSTGRESQL_PATTERN = r"[\u0001-\u001F\u007F-\u009F\u2028\u2029]"
# Arabic, left-to-right and right-to-left marks, embeddings, overrides and isolates reorder the text
# around a name. Other invisible characters, such as joiners in Persian and emoji, have a use.
_DIRECTION = dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))


def clean_name(text: str) -> str:
    """Return a name on one line, with single spaces and without marks of direction."""
    return " ".join((text if text.isascii() else text.translate(_DIRECTION)).split())
