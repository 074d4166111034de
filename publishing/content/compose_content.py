"""Compose the mail from a content and the newsletter's settings."""

from typing import Any

from django.conf import settings

from delivery.languages import in_language_of
from delivery.mail.html_and_text import MailParts, compose
from delivery.models import Newsletter
from publishing.content.edition_content import Content, texts_of, used_fields, write_fallbacks
from subscribers.fields.find_tags import has_topics
from subscribers.fields.own_fields import load_own_fields


def compose_content(content: Content, newsletter: Newsletter | None = None) -> MailParts:
    """Return the HTML and the plain text of the mail, with unfilled merge fields.

    `newsletter` has settings that are not saved yet; without it, the saved settings are used.
    """
    newsletter = newsletter or Newsletter.objects.get_current()
    with in_language_of(newsletter):
        return compose(
            content.title,
            content.html,
            content.text,
            newsletter=newsletter,
            site_url=settings.SITE_URL,
            preview_text=content.preview_text,
            has_topics=has_topics(),
            has_page=content.has_page,
        )


def edition_columns(content: Content, newsletter: Newsletter | None = None) -> dict[str, Any]:
    """Return the columns of a newsletter edition that depend on its content.

    `newsletter` has settings that are not saved yet; without it, the saved settings are used.
    """
    fields = load_own_fields()
    frozen = write_fallbacks(content, fields)
    mail = compose_content(frozen, newsletter)
    return {
        **{one.column: text for one, text in texts_of(frozen)},
        "stream": settings.BROADCAST_STREAM,
        "merge_fields": used_fields(frozen, fields),
        "html_mail": mail.html,
        "text_mail": mail.text,
        "content_hash": content.sha256,
    }
