"""Render each reader's message, in the form that the provider takes.

When a message is tried again, only its attempt id differs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from email.header import Header
from email.utils import parseaddr
from enum import Enum, auto
from typing import Any, TypeVar
from uuid import UUID

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.mail.escape_field_value import Place
from delivery.mail.mark_test_letter import mark_subject
from delivery.mail.merge_fields import TITLE_FIELDS, Field, FieldTemplate, uses_field
from delivery.mail.message_json_template import JsonTemplate, Key, ValueMarkers
from delivery.mail.transactional_mail_texts import KIND_BY_ISSUE, newsletter_values, provider_tag
from delivery.models import Edition, Newsletter
from delivery.reader_fields import FIELD_NAMES
from delivery.rules.delivery_key import key_prefix

ONE_CLICK = ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
# RFC 3834: vacation notices do not answer mail that a program sends.
AUTOMATIC = ("Auto-Submitted", "auto-generated")
MAX_SUBJECT_LENGTH = 2000

# A row of a batch: the reader's id, the address, the values of `READER_FIELDS` in order, and the
# values of the edition's `merge_fields`.
Recipient = tuple[int, str, *tuple[str, ...]]
T = TypeVar("T")


class _Value(Enum):
    """The program's own values in a message. No merge field can have these keys."""

    RECIPIENT = auto()
    ADDRESS = auto()
    SUBJECT = auto()
    ATTEMPT = auto()
    LINK = auto()
    PREFERENCES_URL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message in words of no provider. `html` or `text` may be empty.

    `headers` has names with their values, the Message-ID first. `metadata` names the copy and the
    attempt.
    """

    sender: str
    to: str
    reply_to: str
    subject: str
    html: str
    text: str
    tag: str
    stream: str
    metadata: Mapping[str, str]
    headers: Sequence[tuple[str, str]]

    def as_json(self) -> dict[str, Any]:
        """Return the message as a value that JSON can hold."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Links:
    """The targets of a reader's links.

    `unsubscribe_urls` and `preferences_urls` take recipients; `transactional_url` takes a kind of
    mail, a recipient and the version. If the provider handles unsubscribes, it replaces
    `provider_placeholder` by its own link; the placeholder is empty if Homing handles them.
    """

    unsubscribe_urls: Callable[[Sequence[int]], Sequence[str]]
    preferences_urls: Callable[[Sequence[int]], Sequence[str]]
    transactional_url: Callable[[str, int, int], str]
    provider_placeholder: str = ""


def merge_values(address: T, values: Sequence[T], merge_fields: Sequence[str]) -> dict[str, T]:
    """Return a reader's values in a dict, with the merge fields as keys.

    If an author's own field has the name of a built-in field, the built-in value is returned.
    """
    built_in = len(FIELD_NAMES)
    own = dict(zip(merge_fields, values[built_in:], strict=True))
    return own | dict(zip(FIELD_NAMES, values[:built_in], strict=True)) | {"email": address}


class Renderer:
    """A renderer for the messages of one edition, with current settings.

    Sending and previews use the same renderer. Transactional mail belongs to no list (RFC 2369, RFC
    2919); a welcome letter has the headers of a newsletter.
    """

    def __init__(
        self,
        edition: Edition,
        newsletter: Newsletter,
        links: Links,
        *,
        sender: str,
        shape: Callable[[Message], Mapping[str, Any]] = Message.as_json,
    ) -> None:
        """`shape` returns the value of JSON that the provider takes as a message."""
        self.is_transactional = edition.issue_id in KIND_BY_ISSUE
        # A provider handles unsubscribes on the newsletters' stream only.
        self._has_own_links = not links.provider_placeholder or edition.kind == Edition.Kind.WELCOME
        is_automatic = self.is_transactional or edition.kind == Edition.Kind.WELCOME
        self._automatic_headers = [AUTOMATIC] if is_automatic else []
        self._edition = edition
        self._urls = links
        # `_values` has the merge fields that are the same for all readers. `_own` maps each merge
        # field that differs by reader to the key of its value.
        self._own: dict[str, Key]
        if self.is_transactional:
            self._values = newsletter_values(newsletter)
            self._own = {"email": "email", "link": _Value.LINK}
        else:
            self._values = {"archive_url": edition.archive_url}
            own = [name for name in edition.merge_fields if name not in self._values]
            self._own = {name: name for name in (*own, *TITLE_FIELDS)}
            self._own["unsubscribe_url"] = _Value.LINK
        is_test = edition.kind == Edition.Kind.TEST
        title, html, text = edition.title, edition.html_mail, edition.text_mail
        if any(uses_field(part, "preferences_url") for part in (html, text)):
            self._own["preferences_url"] = _Value.PREFERENCES_URL
        self._title = FieldTemplate(mark_subject(title) if is_test else title, html=False)
        self._html = FieldTemplate(html, html=True) if html else None
        self._text = FieldTemplate(text, html=False) if text else None
        self._key_prefix = key_prefix(edition.issue_id, edition.version)
        self._domain = parseaddr(sender)[1].rpartition("@")[2] or "localhost"
        self._list_id = _list_id(newsletter.name, self._domain)
        self._common = {
            "sender": sender,
            "reply_to": edition.reply_to or newsletter.reply_to,
            "tag": provider_tag(edition.issue_id),
            "stream": edition.stream,
        }
        self._shape = shape
        fixed = (title, html, text, self._list_id, self._key_prefix)
        texts = (repr(fixed), repr(self._common), repr(sorted(self._values.items())))
        self._template = self._split(ValueMarkers(*texts))

    def body(self, recipients: Sequence[Recipient], attempt: UUID) -> bytes:
        """Render the messages of `recipients` under `attempt`: a JSON array, in order.

        Each step renders a whole column of values, which is faster than message by message.
        """
        if not recipients:
            return b"[]"
        ids, addresses, *values = zip(*recipients, strict=True)
        columns: dict[Key, Any] = {}
        columns.update(merge_values(addresses, values, self._edition.merge_fields))
        columns[_Value.RECIPIENT] = [*map(str, ids)]
        columns[_Value.ADDRESS] = addresses
        columns[_Value.LINK] = self._links(ids)
        if _Value.PREFERENCES_URL in self._own.values():
            columns[_Value.PREFERENCES_URL] = self._urls.preferences_urls(ids)
        if self._title.fields:
            own = {field: columns[key] for field, key in self._own.items()}
            subjects = self._title.fill_rows({**self._values, **own}, len(recipients))
            columns[_Value.SUBJECT] = [*map(_as_subject, subjects)]
        return self._template.fill(columns, {_Value.ATTEMPT: attempt.hex})

    def _links(self, recipients: Sequence[int]) -> Sequence[str]:
        if self.is_transactional:
            kind, version = self._edition.kind, self._edition.version
            return [self._urls.transactional_url(kind, each, version) for each in recipients]
        if self._has_own_links:
            return self._urls.unsubscribe_urls(recipients)
        return [self._urls.provider_placeholder] * len(recipients)

    def _list_headers(self, link: str) -> list[tuple[str, str]]:
        if self.is_transactional:
            return []
        list_id = ("List-Id", self._list_id)
        if not self._has_own_links:
            return [list_id]
        # RFC 8058 requires each of the two headers for unsubscribing exactly once, with one https
        # URL.
        return [list_id, ("List-Unsubscribe", f"<{link}>"), ONE_CLICK]

    def _split(self, markers: ValueMarkers) -> JsonTemplate:
        """Split the message at the values of a reader."""
        delivery = self._key_prefix + markers.of(_Value.RECIPIENT)

        def fill(template: FieldTemplate, *, in_html: bool) -> str:
            def write(field: Field) -> str:
                if key := self._own.get(field.name):
                    # The provider finds its placeholder only if the placeholder is not encoded.
                    is_ours = key is not _Value.LINK or self._has_own_links
                    return markers.of(
                        key,
                        in_html=in_html,
                        fallback=field.fallback,
                        place=field.place if is_ours else Place.TEXT,
                    )
                return template.write(field, self._values)

            return template.fill_with(write)

        message = Message(
            **self._common,
            to=markers.of(_Value.ADDRESS),
            subject=markers.of(_Value.SUBJECT)
            if self._title.fields
            else _as_subject(self._title.fill({})),
            metadata={"delivery": delivery, "attempt": markers.of(_Value.ATTEMPT)},
            headers=[
                ("Message-ID", f"<{delivery}@{self._domain}>"),
                *self._automatic_headers,
                *self._list_headers(markers.of(_Value.LINK)),
            ],
            html=fill(self._html, in_html=True) if self._html else "",
            text=fill(self._text, in_html=False) if self._text else "",
        )
        return markers.split(self._shape(message))


def _as_subject(title: str) -> str:
    # Most titles are printable, and a search for control characters takes four times as long as
    # this check.
    line = title if title.isprintable() else CONTROL_CHARACTERS.sub(" ", title)
    return line[:MAX_SUBJECT_LENGTH]


def _list_id(newsletter: str, domain: str) -> str:
    """Write the List-Id (RFC 2919): a readable name and a permanent id."""
    name = CONTROL_CHARACTERS.sub(" ", newsletter)
    if not name.isascii():
        # Write encoded words of at most 75 characters (RFC 2047) on one line, because this header
        # is not folded.
        return f"{Header(name, 'utf-8', maxlinelen=75).encode(linesep='')} <letter.{domain}>"
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <letter.{domain}>'
