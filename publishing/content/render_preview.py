"""Render a letter as one reader gets it, with the same code that sends letters."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parseaddr

import orjson
from django.conf import settings
from django.urls import reverse

from delivery.mail.html_and_text import MailParts
from delivery.mail.merge_fields import FieldTemplate
from delivery.mail.message_for_reader import Links, Recipient, Renderer, merge_values
from delivery.models import Edition, Newsletter
from delivery.reader_fields import READER_FIELDS, ReaderField
from publishing.content.compose_content import edition_columns
from publishing.content.edition_content import Content
from subscribers.confirmed_readers import confirmed
from subscribers.fields.own_fields import load_own_fields

INVENTED_ADDRESS = "ada.whitlock@posthouse.example"
INVALID_TOKEN = "preview"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Preview:
    """What an inbox shows, both parts of the mail, and its size with unfilled fields."""

    sender: str
    reply_to: str
    reader: str
    subject: str
    preview_text: str
    html: str
    text: str
    size: int


def sample_reader(fields: Sequence[ReaderField], *, sees_readers: bool) -> Recipient:
    """Return the first confirmed reader, or an invented reader.

    The reader is invented if there is no confirmed reader, or if the author may not see readers.

    The result ends with the reader's values of the author's `fields`.
    """
    names = [field.name for field in fields]
    first = confirmed(names).order_by("id").first() if sees_readers else None
    if first is None:
        return (0, INVENTED_ADDRESS, *(field.example for field in (*READER_FIELDS, *fields)))
    return (*first[:-1], *first[-1]) if fields else first


def render_preview(
    content: Content, *, sees_readers: bool, slug: str = "", newsletter: Newsletter | None = None
) -> Preview:
    """Render the letter for the sample reader.

    `slug` is the address of the letter in the archive, if any. `newsletter` has settings that are
    not saved yet; without it, the saved settings are used.
    """
    newsletter = newsletter or Newsletter.objects.get_current()
    columns = edition_columns(content, newsletter)
    used = columns["merge_fields"]
    own = [one for one in load_own_fields() if one.name in used]
    reader = sample_reader(own, sees_readers=sees_readers)
    place = reverse("archive:issue", args=[slug]) if slug else reverse("archive:index")
    edition = Edition(
        issue_id=uuid.UUID(int=0),
        version=1,
        archive_url=settings.SITE_URL + place,
        **columns,
    )
    leave, choose = (
        settings.SITE_URL + reverse(f"subscribers:{page}", args=[INVALID_TOKEN])
        for page in ("unsubscribe", "preferences")
    )
    links = Links(
        lambda ids: [leave] * len(ids),
        lambda ids: [choose] * len(ids),
        lambda *_: "",
    )
    renderer = Renderer(edition, newsletter, links, sender=newsletter.sender)
    message = orjson.loads(renderer.body([reader], uuid.UUID(int=0)))[0]
    return Preview(
        sender=parseaddr(newsletter.sender)[0] or newsletter.sender,
        reply_to=message["reply_to"] or parseaddr(newsletter.sender)[1],
        reader=reader[1],
        subject=message["subject"],
        preview_text=FieldTemplate(edition.preview_text, html=False).fill(
            merge_values(reader[1], reader[2:], used)
        ),
        html=message["html"],
        text=message["text"],
        size=MailParts(edition.html_mail, edition.text_mail).size,
    )
