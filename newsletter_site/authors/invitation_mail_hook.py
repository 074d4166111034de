"""The link in the mail of an invitation, for the code that renders mails."""

from django.conf import settings

from delivery.models import Edition
from newsletter_site.authors.invitations import invitation_link_path
from subscribers.delivery_hooks import RegisteredReaders


class ReadersAndInvited(RegisteredReaders):
    """The functions about readers, and the link for people who are not readers."""

    def mail_link(self, kind: str, recipient: int, version: int) -> str:
        """Return the link of a transactional mail or of an invitation."""
        if kind == Edition.Kind.INVITATION:
            return f"{settings.SITE_URL}{invitation_link_path(version)}"
        return super().mail_link(kind, recipient, version)
