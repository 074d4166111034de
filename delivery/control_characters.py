"""Control and invisible characters, refused in names or removed around addresses."""

import re

# The ranges are explicit, because PostgreSQL's [[:cntrl:]] depends on the collation.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# `CONTROL_CHARACTERS` for a database constraint, without NUL, which PostgreSQL cannot store.
POSTGRESQL_PATTERN = r"[\u0001-\u001F\u007F-\u009F\u2028\u2029]"
# These reorder the text around a name: the marks (Arabic letter, left-to-right, right-to-left),
# embeddings, overrides and isolates. Other invisible characters stay, because texts need them, such
# as joiners in Persian and emoji.
_DIRECTION = dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
# Unicode's “default ignorable” characters, such as marks of direction and zero-width spaces.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
INVISIBLE = re.compile(f"[{_IGNORABLE}]")
_BLANKS = re.compile(rf"[\s{_IGNORABLE}]*")


def strip_invisible(text: str) -> str:
    """Remove the spaces and invisible characters around a text, in linear time."""
    text = text.strip()
    if text.isascii():
        return text
    for _ in range(2):  # the start, then the end
        text = _BLANKS.sub("", text, count=1)[::-1]
    return text


def clean_name(text: str) -> str:
    """Return a name on one line, with single spaces and without marks of direction.

    The result is empty if the name has no visible character.
    """
    if not text.isascii():
        text = text.translate(_DIRECTION) if INVISIBLE.sub("", text).strip() else ""
    return " ".join(text.split())
