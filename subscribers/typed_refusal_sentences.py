"""Sentences, by code, that say why a text that readers type is refused."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

TYPED: Mapping[str, Promise] = {
    # Why an address is refused (address.py)
    "address_missing": _("The address is missing."),
    "address_too_long": _("The address has {length} characters. At most {longest} are allowed."),
    "address_two_at_signs": _("The address has more than one @ sign."),
    "address_no_at_sign": _("The address has no @ sign."),
    "address_space": _("The address contains a space."),
    "address_characters": _(
        "The part before the @ sign has characters that are not allowed ({characters})."
    ),
    "address_invisible": _(
        "The address contains invisible characters ({characters}). Delete them or type it anew."
    ),
    "address_before_at_sign": _("The part before the @ sign is not valid."),
    "address_after_at_sign": _("The part after the @ sign is not a domain that receives mail."),
    "address_invalid": _("The address is not valid."),  # only releases up to 1.0 stored this code
    "address_question_mark": _(
        "The mail provider does not accept a question mark before the @ sign."
    ),
    # Why the value of another field is refused (reader_values.py)
    "field_too_long": _("“{field}” has {length} characters. At most {longest} are allowed."),
    "field_control_characters": _("“{field}” contains invisible control characters. Remove them."),
}
