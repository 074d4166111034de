"""The texts next to buttons for consent. Earlier texts stay in the database."""

from django.core import signing
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

SIGN_UP_BUTTON = _("Subscribe")
SIGN_UP = _(
    "We will email you a link to confirm. You get letters only after you confirm. Every letter has "
    "an unsubscribe link."
)
CONFIRM_BUTTON = _("Confirm subscription")
CONFIRM = _("Press the button to get our letters.")
SIGNED = "wording"  # the name of the hidden control in a form on another site
_SIGNER = signing.Signer(salt="the wording of a form on another site")


def full_wording(newsletter_name: str, words: Promise, button: Promise) -> str:
    """Join the newsletter's name, the text and the button's label in a plain text."""
    return f"{newsletter_name}\n{words}\n[{button}]"


def sign_wording(wording: str) -> str:
    """Sign the wording of a form on another site.

    The signed wording stays valid if the wording of our own form changes later.
    """
    return _SIGNER.sign_object(wording, compress=True)


def read_wording(signed: str) -> str:
    """Return the wording that a form showed; empty if the signature is not ours."""
    try:
        return str(_SIGNER.unsign_object(signed))
    except signing.BadSignature:
        return ""
