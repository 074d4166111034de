"""The reason of a suppression in words. Pure."""

from django.utils.translation import gettext as _

from subscribers.models.suppression import Suppression

Reason = Suppression.Reason


def why_suppressed(reason: str, origin: str) -> str:
    """Explain a suppression; an unknown reason is shown as it is."""
    if origin == Suppression.Origin.IMPORT:
        words = {
            Reason.BOUNCE: _("an imported file says that mail to it bounced"),
            Reason.COMPLAINT: _("an imported file says that its owner marked a letter as spam"),
            Reason.UNSUBSCRIBE: _("an imported file says that its owner unsubscribed"),
            Reason.MANUAL: _("an imported file says that another newsletter service blocked it"),
        }
    else:
        words = {
            Reason.BOUNCE: _("mail to it bounced"),
            Reason.COMPLAINT: _("its owner marked a letter as spam"),
            Reason.UNSUBSCRIBE: _("its owner unsubscribed on the mail provider’s page"),
            Reason.MANUAL: _("an author or operator blocked it"),
        }
    return {str(known): sentence for known, sentence in words.items()}.get(reason, reason)
