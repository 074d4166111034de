"""The labels of outcomes and of lists of readers on pages. Pure."""

from django.utils.translation import gettext_lazy as _

_LABELS = {
    "sent": _("sent"),
    "unknown": _("unconfirmed"),
    "failed": _("failed"),
    "suppressed": _("suppressed"),
    "withdrawn": _("withdrawn"),
    "waiting": _("waiting"),
    "all": _("all"),
    "missed": _("missed"),
}


def outcome_label(code: str) -> str:
    """Return the label of an outcome or a list; its code if a newer release wrote it."""
    return str(_LABELS.get(code, code))
