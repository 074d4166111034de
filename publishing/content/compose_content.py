"""Compose the mail of a content with the newsletter's current settings."""

from collections.abc import Sequence
from html import escape
from typing import Any

from django.conf import settings

from delivery.mail.html_and_text import MailParts, compose
from delivery.mail.merge_fields import iter_fields, with_fallbacks
from delivery.models import Newsletter
from delivery.reader_fields import ReaderField
from publishing.content.edition_content import Content
from subscribers.fields.reader_fields import load_own_fields
from subscribers.fields.topics import has_topics


def compose_content(content: Content) -> MailParts:
    """Return both parts of the mail, with merge fields in place."""
    return compose(
        content.title,
        content.html,
        content.text,
        newsletter=Newsletter.objects.get_current(),
        site_url=settings.SITE_URL,
        preheader=content.preheader,
        has_topics=has_topics(),
    )


def write_fallbacks(content: Content, fields: Sequence[ReaderField]) -> Content:
    """Write each field's own fallback where the letter names none."""
    fallbacks = {field.name: field.fallback for field in fields if field.fallback}
    escaped = {name: escape(fallback) for name, fallback in fallbacks.items()}
    return Content(
        title=with_fallbacks(content.title, fallbacks),
        html=with_fallbacks(content.html, escaped),
        text=with_fallbacks(content.text, fallbacks),
        preheader=with_fallbacks(content.preheader, fallbacks),
    )


def used_fields(content: Content, fields: Sequence[ReaderField]) -> list[str]:
    """Return the names of those `fields` that the content uses, in their order."""
    texts = (content.title, content.html, content.text, content.preheader)
    used = {field.name for text in texts for field in iter_fields(text)}
    return [field.name for field in fields if field.name in used]


def edition_columns(content: Content) -> dict[str, Any]:
    """Return the columns of a newsletter edition that depend on its content."""
    fields = load_own_fields()
    frozen = write_fallbacks(content, fields)
    mail = compose_content(frozen)
    return {
        "stream": settings.POSTMARK_BROADCAST_STREAM,
        "title": frozen.title,
        "preheader": frozen.preheader,
        "html_content": frozen.html,
        "text_content": frozen.text,
        "merge_fields": used_fields(frozen, fields),
        "html_mail": mail.html,
        "text_mail": mail.text,
        "content_hash": content.sha256,
    }
