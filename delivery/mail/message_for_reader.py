"""Render each reader's message for Postmark.

When a message is tried again, only its attempt id differs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

# If Postmark handles unsubscribes, it replaces this text by its own link.
POSTMARK_UNSUBSCRIBE = "{{{ pm:unsubscribe }}}"
ONE_CLICK = {"Name": "List-Unsubscribe-Post", "Value": "List-Unsubscribe=One-Click"}
KEEP_ID = {"Name": "X-PM-KeepID", "Value": "true"}
# RFC 3834: vacation notices do not answer mail that a program sends.
AUTOMATIC = {"Name": "Auto-Submitted", "Value": "auto-generated"}
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


@dataclass(frozen=True, slots=True)
class Links:
    """The targets of a reader's links.

    `unsubscribe_urls` and `preferences_urls` take recipients; `transactional_url` takes a kind of
    mail, a recipient and the version. `handles_unsubscribes` is false if Postmark handles
    unsubscribes.
    """

    unsubscribe_urls: Callable[[Sequence[int]], Sequence[str]]
    preferences_urls: Callable[[Sequence[int]], Sequence[str]]
    transactional_url: Callable[[str, int, int], str]
    handles_unsubscribes: bool


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
        self, edition: Edition, newsletter: Newsletter, links: Links, *, sender: str
    ) -> None:
        self.is_transactional = edition.issue_id in KIND_BY_ISSUE
        # Postmark handles unsubscribes on the newsletters' stream only.
        self._has_own_links = links.handles_unsubscribes or edition.kind == Edition.Kind.WELCOME
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
        self._common: dict[str, Any] = {
            "From": sender,
            "Tag": provider_tag(edition.issue_id),
            "TrackOpens": False,
            "TrackLinks": "None",
            "MessageStream": edition.stream,
        }
        if reply_to := edition.reply_to or newsletter.reply_to:
            self._common["ReplyTo"] = reply_to
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
        return [POSTMARK_UNSUBSCRIBE] * len(recipients)

    def _list_headers(self, link: str) -> list[dict[str, str]]:
        if self.is_transactional:
            return []
        list_id = {"Name": "List-Id", "Value": self._list_id}
        if not self._has_own_links:
            return [list_id]
        # RFC 8058 requires each of the two headers for unsubscribing exactly once, with one https
        # URL.
        return [list_id, {"Name": "List-Unsubscribe", "Value": f"<{link}>"}, ONE_CLICK]

    def _split(self, markers: ValueMarkers) -> JsonTemplate:
        """Split the message at the values of a reader."""
        delivery = self._key_prefix + markers.of(_Value.RECIPIENT)

        def fill(template: FieldTemplate, *, in_html: bool) -> str:
            def write(field: Field) -> str:
                if key := self._own.get(field.name):
                    # Postmark replaces its placeholder only if the placeholder is not encoded.
                    is_ours = key is not _Value.LINK or self._has_own_links
                    return markers.of(
                        key,
                        in_html=in_html,
                        fallback=field.fallback,
                        place=field.place if is_ours else Place.TEXT,
                    )
                return template.write(field, self._values)

            return template.fill_with(write)

        message = {
            **self._common,
            "To": markers.of(_Value.ADDRESS),
            "Subject": markers.of(_Value.SUBJECT)
            if self._title.fields
            else _as_subject(self._title.fill({})),
            "Metadata": {"delivery": delivery, "attempt": markers.of(_Value.ATTEMPT)},
            "Headers": [
                {"Name": "Message-ID", "Value": f"<{delivery}@{self._domain}>"},
                KEEP_ID,
                *self._automatic_headers,
                *self._list_headers(markers.of(_Value.LINK)),
            ],
        }
        if self._html:
            message["HtmlBody"] = fill(self._html, in_html=True)
        if self._text:
            message["TextBody"] = fill(self._text, in_html=False)
        return markers.split(message)


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
