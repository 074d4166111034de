"""
One reader's message, as Postmark takes it.

The same delivery always gives the same message but for the attempt's id: a second try must not be
another mail. Made outside any transaction.
"""

from __future__ import annotations

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

# Postmark fills this in itself where it handles unsubscribes.
POSTMARK_UNSUBSCRIBE = "{{{ pm:unsubscribe }}}"
ONE_CLICK = {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"}
KEEP_ID = {"Name": "X-PM-KeepID", "Value": "true"}
MAX_SUBJECT_LENGTH = 2000


@dataclass(frozen=True, slots=True)
class Envelope:
    """What all copies of an edition have in common besides their content."""

    issue: UUID
    version: int
    sender: str
    reply_to: str
    stream: str
    newsletter: str
    archive_url: str
    handles_unsubscribes: bool


class Recipient(NamedTuple):
    """Whose copy it is. `fields` are the values of `READER_FIELDS`, in that order."""

    recipient: int
    address: str
    fields: tuple[str, ...]

    @property
    def values(self) -> dict[str, str]:
        """The values of the merge fields that hold a reader's own words."""
        return {**dict(zip(FIELD_NAMES, self.fields, strict=True)), "email": self.address}


class NewsletterRenderer:
    """Makes the messages of one edition of the newsletter; its letter is cut once."""

    def __init__(
        self,
        envelope: Envelope,
        *,
        title: str,
        html_mail: str,
        text_mail: str,
        unsubscribe_urls: Callable[[Sequence[int]], Sequence[str]],
    ) -> None:
        self._unsubscribe_urls = unsubscribe_urls
        self._handles_unsubscribes = envelope.handles_unsubscribes
        self._letter = _MessageBuilder(
            envelope,
            title=title,
            html_mail=html_mail,
            text_mail=text_mail,
            values={"archive_url": envelope.archive_url},
            own={name: name for name in (*FIELD_NAMES, "email")} | {"unsubscribe_url": "link"},
            headers=self._headers,
        )
        self._list_id = {
            "Name": "List-Id",
            "Value": _list_id(envelope.newsletter, self._letter.domain),
        }

    def messages(self, copies: Sequence[Recipient], attempt: UUID) -> list[bytes]:
        """The message of each copy, sent under `attempt`, as JSON and in the order of `copies`."""
        links = (
            self._unsubscribe_urls([copy.recipient for copy in copies])
            if self._handles_unsubscribes
            else [POSTMARK_UNSUBSCRIBE] * len(copies)
        )
        return self._letter.filled(copies, links, attempt)

    def _headers(self, link: str) -> list[dict[str, str]]:
        headers = [self._list_id]
        if self._handles_unsubscribes:
            # RFC 8058: exactly one of each, and one https address.
            headers += [{"Name": "List-Unsubscribe", "Value": f"<{link}>"}, ONE_CLICK]
        return headers


class TransactionalRenderer:
    """
    Makes the messages of one edition of mail on request.

    There is no list to leave and none to name (RFC 2369 and 2919 are for lists): one mail, which
    one person asked for. `values` are the newsletter's own of this moment.
    """

    def __init__(
        self,
        envelope: Envelope,
        *,
        title: str,
        html_mail: str,
        text_mail: str,
        values: Mapping[str, str],
        link: Callable[[int], str],
    ) -> None:
        self._link = link
        self._letter = _MessageBuilder(
            envelope,
            title=title,
            html_mail=html_mail,
            text_mail=text_mail,
            values=values,
            own={"email": "email", "link": "link"},
            headers=_no_more,
        )

    def messages(self, copies: Sequence[Recipient], attempt: UUID) -> list[bytes]:
        """The message of each copy, sent under `attempt`, as JSON and in the order of `copies`."""
        links = [self._link(copy.recipient) for copy in copies]
        return self._letter.filled(copies, links, attempt)


def _no_more(link: str) -> list[dict[str, str]]:
    """No headers beside those of every mail."""
    return []


class _MessageBuilder:
    """
    What the messages of one edition have in common, and the places where they differ.

    `values` are those of the merge fields that are the same for every reader; `own` names the
    fields that are not, and which of a reader's own values (such as `name`, `link`) each holds.
    `headers` makes what stands beside the headers of every mail, of the reader's link.
    """

    def __init__(
        self,
        envelope: Envelope,
        *,
        title: str,
        html_mail: str,
        text_mail: str,
        values: Mapping[str, str],
        own: Mapping[str, str],
        headers: Callable[[str], list[dict[str, str]]],
    ) -> None:
        self._title = FieldTemplate(title, html=False)
        self._html = FieldTemplate(html_mail, html=True) if html_mail else None
        self._text = FieldTemplate(text_mail, html=False) if text_mail else None
        self._values = values
        self._own = own
        self._headers = headers
        self._stem = key_prefix(envelope.issue, envelope.version)
        self.domain = parseaddr(envelope.sender)[1].rpartition("@")[2] or "localhost"
        self._common: dict[str, Any] = {
            "From": envelope.sender,
            "Tag": provider_tag(envelope.issue),
            "TrackOpens": False,
            "TrackLinks": "None",
            "MessageStream": envelope.stream,
        }
        if envelope.reply_to:
            self._common["ReplyTo"] = envelope.reply_to
        self._texts = (title, html_mail, text_mail, repr(envelope), repr(sorted(values.items())))
        self._cuts: dict[tuple[bool, ...], MessageTemplate] = {}

    def filled(
        self, copies: Sequence[Recipient], links: Sequence[str], attempt: UUID
    ) -> list[bytes]:
        """The messages of these readers, each with its own of `links`, as JSON."""
        values = {"attempt": attempt.hex}
        messages = []
        for copy, link in zip(copies, links, strict=True):
            values["recipient"] = str(copy.recipient)
            values.update(copy.values, link=link)
            if self._title.has_fields:
                own = {field: values[name] for field, name in self._own.items()}
                values["subject"] = _as_subject(self._title.fill({**self._values, **own}))
            messages.append(self._cut_for(copy).filled(values))
        return messages

    def _cut_for(self, copy: Recipient) -> MessageTemplate:
        """
        The message as readers share it who lack the same values.

        Where a value is missing, what stands in its fields is the author's own words.
        """
        lacks = tuple(map(not_, (*copy.fields, copy.address)))
        if lacks not in self._cuts:
            self._cuts[lacks] = self._cut(lacks)
        return self._cuts[lacks]

    def _cut(self, lacks: tuple[bool, ...]) -> MessageTemplate:
        marks = ValueMarkers(*self._texts)
        key = self._stem + marks.of("recipient")

        lacking = dict(zip((*FIELD_NAMES, "email"), lacks, strict=True))

        def values(*, in_html: bool) -> dict[str, str]:
            own = {
                field: "" if lacking.get(name) else marks.of(name, in_html=in_html)
                for field, name in self._own.items()
            }
            return {**self._values, **own}

        message = {
            **self._common,
            "To": marks.of("email"),
            "Subject": marks.of("subject")
            if self._title.has_fields
            else _as_subject(self._title.fill({})),
            "Metadata": {"delivery": key, "attempt": marks.of("attempt")},
            "Headers": [
                {"Name": "Message-ID", "Value": f"<{key}@{self.domain}>"},
                KEEP_ID,
                *self._headers(marks.of("link")),
            ],
        }
        if self._html:
            message["HtmlBody"] = self._html.fill(values(in_html=True))
        if self._text:
            message["TextBody"] = self._text.fill(values(in_html=False))
        return marks.cut(message)


def _as_subject(title: str) -> str:
    """A title as one line of at most what Postmark takes."""
    return CONTROL_CHARACTERS.sub(" ", title)[:MAX_SUBJECT_LENGTH]


def _list_id(newsletter: str, domain: str) -> str:
    """RFC 2919: a readable name and an id that never changes."""
    name = CONTROL_CHARACTERS.sub(" ", newsletter)
    if not name.isascii():
        # Encoded words of at most 75 characters (RFC 2047), on one line: a value is not folded.
        return f"{Header(name, 'utf-8', maxlinelen=75).encode(linesep='')} <letter.{domain}>"
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <letter.{domain}>'
