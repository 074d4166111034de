"""Render a letter as one reader gets it, with the code that sends."""

import uuid
from dataclasses import dataclass
from email.utils import parseaddr

import orjson
from django.conf import settings
from django.urls import reverse

from delivery.mail.merge_fields import FieldTemplate
from delivery.mail.message_for_reader import Links, Recipient, Renderer, merge_values
from delivery.models import Edition, Newsletter
from delivery.reader_fields import READER_FIELDS
from publishing.content.compose_content import compose_content
from publishing.content.edition_content import Content
from subscribers.confirmed_readers import confirmed

INVENTED_READER: Recipient = (
    0,
    "ada.whitlock@posthouse.example",
    *(field.example for field in READER_FIELDS),
)
INVALID_TOKEN = "preview"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Preview:
    """The inbox line, both parts, and the size in bytes before fields are filled."""

    sender: str
    reader: str
    subject: str
    preheader: str
    html: str
    text: str
    size: int


def sample_reader(*, sees_readers: bool) -> Recipient:
    """Return the first confirmed reader, or an invented one if none may be shown."""
    first = confirmed().order_by("id").first() if sees_readers else None
    return INVENTED_READER if first is None else first


def render_preview(content: Content, *, sees_readers: bool, slug: str = "") -> Preview:
    """
    Render the letter for the sample reader.

    `slug` is its address in the archive, if any.
    """
    newsletter = Newsletter.objects.get_current()
    reader = sample_reader(sees_readers=sees_readers)
    mail = compose_content(content)
    place = reverse("archive:issue", args=[slug]) if slug else reverse("archive:index")
    edition = Edition(
        issue_id=uuid.UUID(int=0),
        version=1,
        stream=settings.POSTMARK_BROADCAST_STREAM,
        title=content.title,
        html_mail=mail.html,
        text_mail=mail.text,
        archive_url=settings.SITE_URL + place,
    )
    link = settings.SITE_URL + reverse("subscribers:unsubscribe", args=[INVALID_TOKEN])
    links = Links(lambda ids: [link] * len(ids), lambda *_: "", handles_unsubscribes=True)
    renderer = Renderer(edition, newsletter, links, sender=settings.FROM_EMAIL)
    message = orjson.loads(renderer.body([reader], uuid.UUID(int=0)))[0]
    return Preview(
        sender=parseaddr(settings.FROM_EMAIL)[0] or settings.FROM_EMAIL,
        reader=reader[1],
        subject=message["Subject"],
        preheader=FieldTemplate(content.preheader, html=False).fill(merge_values(reader)),
        html=message.get("HtmlBody", ""),
        text=message.get("TextBody", ""),
        size=mail.size,
    )
