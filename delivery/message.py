"""
One reader's message, as Postmark takes it.

The same delivery always gives the same message but for the attempt's id: a second try must not be
another mail. Made outside any transaction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.header import Header
from email.utils import parseaddr
from typing import Any
from uuid import UUID

from delivery.delivery_key import DeliveryKey
from delivery.mail_on_request import tag_of
from delivery.merge_fields import Template

# Postmark fills this in itself where it handles unsubscribes.
POSTMARK_UNSUBSCRIBE = "{{{ pm:unsubscribe }}}"
ONE_CLICK = {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"}
KEEP_ID = {"Name": "X-PM-KeepID", "Value": "true"}
LONGEST_SUBJECT = 2000
# Control characters and the separators that some programs take for the end of a line.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


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


@dataclass(frozen=True, slots=True)
class Copy:
    """Whose copy it is."""

    recipient: int
    address: str
    name: str


class Renderer:
    """Makes the messages of one edition of the newsletter; its templates are cut once."""

    def __init__(
        self,
        envelope: Envelope,
        *,
        title: str,
        html_mail: str,
        text_mail: str,
        unsubscribe_url: Callable[[int], str],
    ) -> None:
        self._unsubscribe_url = unsubscribe_url
        self._archive_url = envelope.archive_url
        self._handles_unsubscribes = envelope.handles_unsubscribes
        self._message = _Message(envelope, title=title, html_mail=html_mail, text_mail=text_mail)
        # What no reader changes is made once: at many thousands of copies a second it counts.
        self._list_id = {
            "Name": "List-Id",
            "Value": _list_id(envelope.newsletter, self._message.domain),
        }

    def message(self, copy: Copy, attempt: UUID) -> dict[str, Any]:
        """The message for one reader, sent under `attempt`; a value for `orjson.dumps`."""
        own_link = self._handles_unsubscribes
        link = self._unsubscribe_url(copy.recipient) if own_link else POSTMARK_UNSUBSCRIBE
        values = {
            "name": copy.name,
            "email": copy.address,
            "unsubscribe_url": link,
            "archive_url": self._archive_url,
        }
        headers = [self._list_id]
        if own_link:
            # RFC 8058: exactly one of each, and one https address.
            headers += [{"Name": "List-Unsubscribe", "Value": f"<{link}>"}, ONE_CLICK]
        return self._message.filled(copy, attempt, values, headers)


class OnRequestRenderer:
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
        self._values = values
        self._link = link
        self._message = _Message(envelope, title=title, html_mail=html_mail, text_mail=text_mail)

    def message(self, copy: Copy, attempt: UUID) -> dict[str, Any]:
        """The message for one reader, sent under `attempt`; a value for `orjson.dumps`."""
        values = {**self._values, "email": copy.address, "link": self._link(copy.recipient)}
        return self._message.filled(copy, attempt, values, [])


class _Message:
    """What the messages of one edition have in common, and the places where they differ."""

    def __init__(self, envelope: Envelope, *, title: str, html_mail: str, text_mail: str) -> None:
        self._issue = envelope.issue
        self._version = envelope.version
        self._title = Template(title, html=False)
        self._html = Template(html_mail, html=True) if html_mail else None
        self._text = Template(text_mail, html=False) if text_mail else None
        self.domain = parseaddr(envelope.sender)[1].rpartition("@")[2] or "localhost"
        self._common: dict[str, Any] = {
            "From": envelope.sender,
            "Tag": tag_of(envelope.issue),
            "TrackOpens": False,
            "TrackLinks": "None",
            "MessageStream": envelope.stream,
        }
        if envelope.reply_to:
            self._common["ReplyTo"] = envelope.reply_to

    def filled(
        self,
        copy: Copy,
        attempt: UUID,
        values: Mapping[str, str],
        headers: Sequence[dict[str, str]],
    ) -> dict[str, Any]:
        """The message of one reader, with these headers beside those that every message has."""
        key = str(DeliveryKey(self._issue, self._version, copy.recipient))
        message = {
            **self._common,
            "To": copy.address,
            "Subject": _CONTROL.sub(" ", self._title.fill(values))[:LONGEST_SUBJECT],
            "Metadata": {"delivery": key, "attempt": attempt.hex},
            "Headers": [
                {"Name": "Message-ID", "Value": f"<{key}@{self.domain}>"},
                KEEP_ID,
                *headers,
            ],
        }
        if self._html:
            message["HtmlBody"] = self._html.fill(values)
        if self._text:
            message["TextBody"] = self._text.fill(values)
        return message


def _list_id(newsletter: str, domain: str) -> str:
    """RFC 2919: a readable name and an id that never changes."""
    name = _CONTROL.sub(" ", newsletter)
    if not name.isascii():
        # Encoded words of at most 75 characters (RFC 2047), on one line: a value is not folded.
        return f"{Header(name, 'utf-8', maxlinelen=75).encode(linesep='')} <letter.{domain}>"
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <letter.{domain}>'
