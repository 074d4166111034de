"""The sentence about an unknown merge field."""

from django.utils.translation import gettext as _

from delivery.mail.merge_fields import UnknownField


def unknown_field_sentence(field: UnknownField) -> str:
    """Write that a merge field is unknown, and which fields exist."""
    unknown = _("There is no merge field “{field}”.").format(field=_braced(field.shown_name))
    if field.meant:
        hint = _("Did you mean “{field}”?").format(field=_braced(field.meant))
    else:
        hint = _("You can use: {fields}.").format(fields=", ".join(field.allowed))
    return f"{unknown} {hint}"


def _braced(name: str) -> str:
    return f"{{{{ {name} }}}}"
