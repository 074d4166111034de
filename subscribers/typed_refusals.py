"""Why something that readers type is refused: a sentence for each code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

# `detail` is email-validator's own sentence, which is English.
ADDRESS_INVALID = "address_invalid"
NOT_VALID = _("The address is not valid.")
TYPED: Mapping[str, StrPromise | str] = {
    # An address (address.py)
    "address_missing": _("The address is missing."),
    "address_too_long": _("The address has {length} characters. At most {longest} are allowed."),
    "address_two_at_signs": _("The address has more than one @ sign."),
    ADDRESS_INVALID: "{detail}",
    "address_question_mark": _(
        "The mail provider does not accept a question mark before the @ sign."
    ),
    # Another field of a reader (reader_values.py)
    "field_too_long": _("“{field}” has {length} characters. At most {longest} are allowed."),
    "field_control_characters": _("“{field}” contains invisible control characters. Remove them."),
}
