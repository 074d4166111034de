"""Compose the mail of a content with the newsletter's current settings."""

from typing import Any

from django.conf import settings

from delivery.mail.html_and_text import MailParts, compose
from delivery.models import Newsletter
from publishing.content.edition_content import Content


def compose_content(content: Content) -> MailParts:
    """Return both parts of the mail, with merge fields in place."""
    return compose(
        content.title,
        content.html,
        content.text,
        newsletter=Newsletter.objects.get_current(),
        site_url=settings.SITE_URL,
        preheader=content.preheader,
    )


def edition_columns(content: Content) -> dict[str, Any]:
    """Return the columns of a newsletter edition that depend on its content."""
    mail = compose_content(content)
    return {
        "stream": settings.POSTMARK_BROADCAST_STREAM,
        "title": content.title,
        "preheader": content.preheader,
        "html_content": content.html,
        "text_content": content.text,
        "html_mail": mail.html,
        "text_mail": mail.text,
        "content_hash": content.sha256,
    }
