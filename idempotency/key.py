"""The key of a posted form, which the server makes for every form that it shows."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

FIELD = "idempotency_key"
HEADER = "Idempotency-Key"
LONGEST_KEY = 49

# No blank at either end: a header loses it and a field keeps it, so one key would become two.
KEY_PATTERN = r"^[!-~]([ -~]{0,47}[!-~])?$"


@dataclass(frozen=True)
class InvalidKey:
    """There is no usable key; `reason` is one sentence for the author."""

    reason: str


def fresh_key() -> str:
    """Make the key of one form that is about to be shown: 36 characters, never seen before."""
    return str(uuid.uuid4())


def read_key(in_fields: Sequence[str], in_header: str | None) -> str | InvalidKey:
    """Return the key of a post, as given in the hidden field (every value) or in the header."""
    given = set(in_fields) | ({in_header} if in_header is not None else set())
    if len(given) > 1:
        return InvalidKey(
            "The form came with two different idempotency keys. "
            f"Give one, or the same one as field {FIELD} and as header {HEADER}."
        )
    key = given.pop() if given else ""
    if not key:
        return InvalidKey(
            "The form came without an idempotency key. "
            f"Give one as field {FIELD} or as header {HEADER}."
        )
    if len(key) > LONGEST_KEY:
        return InvalidKey(
            f"The idempotency key has {len(key)} characters. Give 1 to {LONGEST_KEY}."
        )
    if not re.fullmatch("[ -~]+", key):
        return InvalidKey(
            "The idempotency key holds a character that is not printable ASCII. "
            "Give letters, digits and signs from that set only."
        )
    if key != key.strip(" "):
        return InvalidKey("The idempotency key starts or ends with a blank. Give it without.")
    return key
