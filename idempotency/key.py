"""
The key of a posted form: where it is read from and what it may look like.

A key says "this is the same form as before". It is made by the server, one for every form that
is shown, and never derived from what the author writes.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

FIELD = "idempotency_key"
HEADER = "Idempotency-Key"
LONGEST_KEY = 49

# A blank inside is a printable character like any other. At either end it is refused: a header
# loses it on the way and a field keeps it, so one key would become two.
KEY_PATTERN = r"^[!-~]([ -~]{0,47}[!-~])?$"


@dataclass(frozen=True)
class BadKey:
    """There is no usable key; `reason` is one sentence for whoever posted the form."""

    reason: str


def fresh_key() -> str:
    """Make the key for one form that is about to be shown: 36 characters, never seen before."""
    return str(uuid.uuid4())


def key_given(in_fields: Sequence[str], in_header: str | None) -> str | BadKey:
    """
    Decide which key a post carries.

    `in_fields` holds every value of the hidden field (none if the field is absent), `in_header`
    the value of the header or None. Nothing is trimmed: a key is compared as it was given.
    """
    given = set(in_fields) | ({in_header} if in_header is not None else set())
    if len(given) > 1:
        return BadKey(
            "The form came with two different idempotency keys. "
            f"Give one, or the same one as field {FIELD} and as header {HEADER}."
        )
    key = given.pop() if given else ""
    reason = _fault_in(key)
    return BadKey(reason) if reason else key


def _fault_in(key: str) -> str | None:
    if not key:
        return (
            "The form came without an idempotency key. "
            f"Give one as field {FIELD} or as header {HEADER}."
        )
    if len(key) > LONGEST_KEY:
        return f"The idempotency key has {len(key)} characters. Give 1 to {LONGEST_KEY}."
    if not re.fullmatch("[ -~]+", key):
        return (
            "The idempotency key holds a character that is not printable ASCII. "
            "Give letters, digits and signs from that set only."
        )
    if key != key.strip(" "):
        return "The idempotency key starts or ends with a blank. Give it without."
    return None
