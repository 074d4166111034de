"""The text next to the buttons for consent. Earlier texts stay stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

SIGN_UP_BUTTON = _("Subscribe")
SIGN_UP = _(
    "We will email you a link to confirm. You get letters only after you confirm. Every letter has "
    "an unsubscribe link."
)
CONFIRM_BUTTON = _("Confirm subscription")
CONFIRM = _("Press the button to get our letters.")


def full_wording(newsletter_name: str, words: StrPromise, button: StrPromise) -> str:
    """Join newsletter, text and button as plain text in the language that was shown."""
    return f"{newsletter_name}\n{words}\n[{button}]"
