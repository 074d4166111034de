"""The key of a posted form. The server creates a key for every form it shows."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from django.utils.translation import gettext as _

FIELD = "idempotency_key"
HEADER = "Idempotency-Key"
LONGEST_KEY = 49

# The primary key of a user, of any type that a site may use.
UserId: TypeAlias = int | str | UUID

# A key has no space at its ends. Headers drop spaces at the ends and form fields keep them, so one
# key would become two different keys.
KEY_PATTERN = r"^[!-~]([ -~]{0,47}[!-~])?$"


@dataclass(frozen=True)
class InvalidKey:
    """A missing or invalid key. `reason` is a text that the author sees."""

    reason: str


def fresh_key() -> str:
    """Create the key of a new form: a UUID of 36 characters."""
    return str(uuid.uuid4())


def read_key(in_fields: Sequence[str], in_header: str | None) -> str | InvalidKey:
    """Return the key of a post, from the hidden field's values or the header."""
    given = set(in_fields) | ({in_header} if in_header is not None else set())
    if len(given) > 1:
        return InvalidKey(
            _(
                "The form has two different idempotency keys. Send the same key in the field "
                "{field} and in the header {header}, or only one of them."
            ).format(field=FIELD, header=HEADER)
        )
    key = given.pop() if given else ""
    if not key:
        return InvalidKey(
            _(
                "The form has no idempotency key. Send a key in the field {field} or in the header "
                "{header}."
            ).format(field=FIELD, header=HEADER)
        )
    if len(key) > LONGEST_KEY:
        return InvalidKey(
            _("The idempotency key has {n} characters. Use 1 to {most}.").format(
                n=len(key), most=LONGEST_KEY
            )
        )
    if not re.fullmatch("[ -~]+", key):
        return InvalidKey(
            _(
                "The idempotency key contains a character that is not printable ASCII. Use only "
                "ASCII letters, digits and signs."
            )
        )
    if key != key.strip(" "):
        return InvalidKey(_("The idempotency key starts or ends with a space. Remove it."))
    return key
