"""Renders each reader's message for Postmark, always the same except for the attempt's id."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.header import Header
from email.utils import parseaddr
from operator import not_
from typing import Any, NamedTuple
from uuid import UUID

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.mail.merge_fields import FieldTemplate
from delivery.mail.message_template import MessageTemplate, ValueMarkers
from delivery.mail.transactional_mail import provider_tag
from delivery.reader_fields import FIELD_NAMES
from delivery.rules.delivery_key import key_prefix

# Postmark replaces this where it handles unsubscribes.
POSTMARK_UNSUBSCRIBE = "{{{ pm:unsubscribe }}}"
ONE_CLICK = {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"}
KEEP_ID = {"Name": "X-PM-KeepID", "Value": "true"}
MAX_SUBJECT_LENGTH = 2000
# Of the fields and the address, which ones a reader has no value for.
LACKS_NOTHING = (False,) * (len(FIELD_NAMES) + 1)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What all messages of an edition have in common: its letter, and what their headers need."""

    issue: UUID
    version: int
    sender: str
    reply_to: str
    stream: str
    newsletter: str
    archive_url: str
    handles_unsubscribes: bool
    title: str
    html_mail: str
    text_mail: str


class Recipient(NamedTuple):
    """Who gets a message. `fields` are the values of `READER_FIELDS`, in that order."""

    recipient: int
    address: str
    fields: tuple[str, ...]

    @property
    def values(self) -> dict[str, str]:
        """The values of the merge fields that hold a reader's own words."""
        return {**dict(zip(FIELD_NAMES, self.fields, strict=True)), "email": self.address}


class Renderer:
    """Renders the messages of one edition. `values` are the merge fields that are the same for all;
    `own` maps the other fields to a reader's value (such as `name`, `link`)."""

    def __init__(
        self,
        envelope: Envelope,
        *,
        values: Mapping[str, str],
        own: Mapping[str, str],
    ) -> None:
        html, text = envelope.html_mail, envelope.text_mail
        self._title = FieldTemplate(envelope.title, html=False)
        self._html = FieldTemplate(html, html=True) if html else None
        self._text = FieldTemplate(text, html=False) if text else None
        self._values = values
        self._own = own
        self._key_prefix = key_prefix(envelope.issue, envelope.version)
        self._domain = parseaddr(envelope.sender)[1].rpartition("@")[2] or "localhost"
        self._common: dict[str, Any] = {
            "From": envelope.sender,
            "Tag": provider_tag(envelope.issue),
            "TrackOpens": False,
            "TrackLinks": "None",
            "MessageStream": envelope.stream,
        }
        if envelope.reply_to:
            self._common["ReplyTo"] = envelope.reply_to
        self._texts = (repr(envelope), repr(sorted(values.items())))
        self._templates: dict[tuple[bool, ...], MessageTemplate] = {}

    def messages(self, recipients: Sequence[Recipient], attempt: UUID) -> list[bytes]:
        """Render the messages of `recipients` under `attempt`, as JSON and in their order."""
        links = self._links([each.recipient for each in recipients])
        values = {"attempt": attempt.hex}
        messages = []
        for recipient, link in zip(recipients, links, strict=True):
            number, address, fields = recipient
            values |= {"recipient": str(number), "email": address, "link": link}
            values.update(zip(FIELD_NAMES, fields, strict=True))
            if self._title.has_fields:
                own = {field: values[name] for field, name in self._own.items()}
                values["subject"] = _as_subject(self._title.fill({**self._values, **own}))
            messages.append(self._template_for(recipient).fill(values))
        return messages

    def _links(self, recipients: Sequence[int]) -> Sequence[str]:
        raise NotImplementedError

    def _headers(self, link: str) -> list[dict[str, str]]:
        return []

    def _template_for(self, recipient: Recipient) -> MessageTemplate:
        """The template for readers who lack the same values: there the author's fallbacks stay."""
        _, address, fields = recipient
        is_complete = address and all(fields)
        lacks = LACKS_NOTHING if is_complete else tuple(map(not_, (*fields, address)))
        if (template := self._templates.get(lacks)) is None:
            template = self._templates[lacks] = self._template(lacks)
        return template

    def _template(self, lacks: tuple[bool, ...]) -> MessageTemplate:
        markers = ValueMarkers(*self._texts)
        key = self._key_prefix + markers.of("recipient")
        lacking = dict(zip((*FIELD_NAMES, "email"), lacks, strict=True))

        def values(*, in_html: bool) -> dict[str, str]:
            own = {
                field: "" if lacking.get(name) else markers.of(name, in_html=in_html)
                for field, name in self._own.items()
            }
            return {**self._values, **own}

        message = {
            **self._common,
            "To": markers.of("email"),
            "Subject": markers.of("subject")
            if self._title.has_fields
            else _as_subject(self._title.fill({})),
            "Metadata": {"delivery": key, "attempt": markers.of("attempt")},
            "Headers": [
                {"Name": "Message-ID", "Value": f"<{key}@{self._domain}>"},
                KEEP_ID,
                *self._headers(markers.of("link")),
            ],
        }
        if self._html:
            message["HtmlBody"] = self._html.fill(values(in_html=True))
        if self._text:
            message["TextBody"] = self._text.fill(values(in_html=False))
        return markers.split(message)


class NewsletterRenderer(Renderer):
    """Renders an edition of the newsletter, with the headers of a list."""

    def __init__(
        self,
        envelope: Envelope,
        unsubscribe_urls: Callable[[Sequence[int]], Sequence[str]],
    ) -> None:
        super().__init__(
            envelope,
            values={"archive_url": envelope.archive_url},
            own={name: name for name in (*FIELD_NAMES, "email")} | {"unsubscribe_url": "link"},
        )
        self._unsubscribe_urls = unsubscribe_urls
        self._handles_unsubscribes = envelope.handles_unsubscribes
        list_id = _list_id(envelope.newsletter, self._domain)
        self._list_headers = [{"Name": "List-Id", "Value": list_id}]

    def _links(self, recipients: Sequence[int]) -> Sequence[str]:
        if self._handles_unsubscribes:
            return self._unsubscribe_urls(recipients)
        return [POSTMARK_UNSUBSCRIBE] * len(recipients)

    def _headers(self, link: str) -> list[dict[str, str]]:
        if not self._handles_unsubscribes:
            return self._list_headers
        # RFC 8058: exactly one of each, and one https address.
        return [*self._list_headers, {"Name": "List-Unsubscribe", "Value": f"<{link}>"}, ONE_CLICK]


class TransactionalRenderer(Renderer):
    """Renders an edition of transactional mail, which belongs to no list (RFC 2369, RFC 2919)."""

    def __init__(
        self,
        envelope: Envelope,
        *,
        values: Mapping[str, str],
        link: Callable[[int], str],
    ) -> None:
        super().__init__(envelope, values=values, own={"email": "email", "link": "link"})
        self._link = link

    def _links(self, recipients: Sequence[int]) -> Sequence[str]:
        return [self._link(recipient) for recipient in recipients]


def _as_subject(title: str) -> str:
    return CONTROL_CHARACTERS.sub(" ", title)[:MAX_SUBJECT_LENGTH]


def _list_id(newsletter: str, domain: str) -> str:
    """RFC 2919: a readable name and an id that never changes."""
    name = CONTROL_CHARACTERS.sub(" ", newsletter)
    if not name.isascii():
        # Encoded words of at most 75 characters (RFC 2047), on one line: a value is not folded.
        return f"{Header(name, 'utf-8', maxlinelen=75).encode(linesep='')} <letter.{domain}>"
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <letter.{domain}>'
