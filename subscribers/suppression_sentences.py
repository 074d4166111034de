"""Codes and words that say why an address gets no mail."""

from collections.abc import Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from subscribers.models.suppression import Suppression

Reason, Origin = Suppression.Reason, Suppression.Origin

# An entry is either on Homing's own list or on the provider's list.
OURS, OF_PROVIDER = "ours", "of_provider"

BLOCKED = "blocked"
MANUAL_AT_PROVIDER = "manual_at_provider"
IMPORTED = "imported_"  # in a code, the reason follows

_WORDS: Mapping[str, Promise] = {
    Reason.BOUNCE: _("mail to it bounced"),
    Reason.COMPLAINT: _("its owner marked a letter as spam"),
    Reason.UNSUBSCRIBE: _("its owner unsubscribed on the mail provider’s page"),
    MANUAL_AT_PROVIDER: _("it was suppressed by hand at the mail provider"),
    BLOCKED: _("an author or operator blocked it"),
    f"{IMPORTED}bounce": _("an imported file says that mail to it bounced"),
    f"{IMPORTED}complaint": _("an imported file says that its owner marked a letter as spam"),
    f"{IMPORTED}unsubscribe": _("an imported file says that its owner unsubscribed"),
    f"{IMPORTED}manual": _("an imported file says that another newsletter service blocked it"),
}


def suppression_code(reason: str, origin: str) -> str:
    """Return the code of one of Homing's suppressions, by its reason and origin."""
    if origin == Origin.OPERATOR:
        return BLOCKED
    if origin == Origin.IMPORT:
        return f"{IMPORTED}{reason}"
    return MANUAL_AT_PROVIDER if reason == Reason.MANUAL else reason


def provider_code(reason: str, origin: str) -> str:
    """Return the code for the provider's reason and origin of an entry on its list."""
    if reason == "ManualSuppression":
        return Reason.UNSUBSCRIBE if origin == "Recipient" else MANUAL_AT_PROVIDER
    return {"HardBounce": Reason.BOUNCE, "SpamComplaint": Reason.COMPLAINT}.get(reason, reason)


def code_of(entry: Sequence[str] | None) -> str:
    """Return the code of a reader's `suppressed`; empty if there is no suppression."""
    if entry is None:
        return ""
    list_, reason, origin = entry
    return (suppression_code if list_ == OURS else provider_code)(reason, origin)


def words_of_code(code: str) -> str:
    """Explain a code in words; an unknown code is returned unchanged."""
    return str(_WORDS.get(code, code))


def why_suppressed(reason: str, origin: str) -> str:
    """Explain a suppression in words; an unknown reason is returned unchanged."""
    return words_of_code(suppression_code(reason, origin))
