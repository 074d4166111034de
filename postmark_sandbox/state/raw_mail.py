"""The only place that turns a message into the raw mail that would have left."""

import quopri
from datetime import UTC, datetime
from email.header import Header
from email.utils import format_datetime, formataddr
from typing import Any

from postmark_sandbox.postmark_api.addresses import Mailbox, read_list
from postmark_sandbox.state.outbox import Message
from postmark_sandbox.times import NS_PER_SECOND

# Names that Postmark sets itself; what a caller puts into Headers under them is not passed on.
_RESERVED = (
    "from to cc bcc subject reply-to sender date received return-path content-type "
    "content-transfer-encoding mime-version x-pm-rcpt tag attachment track-opens track-links "
    "message-stream postmark-template-alias"
)
RESERVED = frozenset(_RESERVED.split())
PLACEHOLDER = "{{{ pm:unsubscribe }}}"
ADDRESSED = ("From", "To", "Cc", "Reply-To")
# A line of mail has at most 998 bytes.
LONGEST_LINE = 990


def mailboxes(item: dict[str, Any], field: str) -> list[Mailbox]:
    """The mailboxes of `To`, `Cc` or `Bcc` of an accepted message."""
    return read_list(item.get(field) or "", field)


def headers_of(message: Message, unsubscribe_url: str | None) -> list[tuple[str, str]]:
    """The headers of the mail, in order. With an `unsubscribe_url` Postmark manages unsubscribes
    and adds the two headers of RFC 8058."""
    item = message.item
    own = [(h["Name"], h["Value"]) for h in item.get("Headers") or []]
    named = {name.lower() for name, _ in own}
    headers = [("From", item["From"])]
    headers += [(name, item[name]) for name in ("To", "Cc") if item.get(name)]
    if item.get("ReplyTo"):
        headers.append(("Reply-To", item["ReplyTo"]))
    headers.append(("Subject", item.get("Subject") or ""))
    sent = datetime.fromtimestamp(message.at_ns // NS_PER_SECOND, UTC)
    headers.append(("Date", format_datetime(sent)))
    if "message-id" not in named:
        headers.append(("Message-ID", f"<{message.id}@mtasv.net>"))
    headers += [(name, value) for name, value in own if name.lower() not in RESERVED]
    headers.append(("X-PM-Message-Id", message.id))
    headers.append(("X-PM-Message-Stream", message.stream))
    if item.get("Tag"):
        headers.append(("X-PM-Tag", item["Tag"]))
    if unsubscribe_url is not None:
        headers.append(("List-Unsubscribe", f"<{unsubscribe_url}>"))
        headers.append(("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"))
    return headers


def header(message: Message, name: str) -> str:
    """The value of one of the caller's own headers, empty if absent."""
    for entry in message.item.get("Headers") or []:
        if entry["Name"].lower() == name.lower():
            return str(entry["Value"])
    return ""


def body_of(message: Message, part: str, unsubscribe_url: str | None) -> str:
    """`HtmlBody` or `TextBody`, with Postmark's unsubscribe link where Postmark would put it."""
    body: str = message.item.get(part) or ""
    if unsubscribe_url is None or not body:
        return body
    if PLACEHOLDER in body:
        return body.replace(PLACEHOLDER, unsubscribe_url)
    if part == "HtmlBody":
        return f'{body}\n<p><a href="{unsubscribe_url}">Unsubscribe</a></p>'
    return f"{body}\n\nUnsubscribe: {unsubscribe_url}\n"


def source(message: Message, unsubscribe_url: str | None = None) -> str:
    """The raw mail: headers, text and HTML as alternatives, attachments by name only.

    Written by hand, since a caller's header may be anything that Postmark lets through, and the
    standard library refuses to write some of it.
    """
    lines = [
        f"{name}: {_addresses(value, name) if name in ADDRESSED else _encoded(value)}"
        for name, value in headers_of(message, unsubscribe_url)
    ]
    text = body_of(message, "TextBody", unsubscribe_url)
    html = body_of(message, "HtmlBody", unsubscribe_url)
    parts = [_part(kind, body) for kind, body in (("plain", text), ("html", html)) if body]
    content = _together("alternative", parts, message.id)
    attached = [_attachment(a["Name"]) for a in message.item.get("Attachments") or []]
    if attached:
        content = _together("mixed", [content, *attached], message.id)
    return "\r\n".join([*lines, "MIME-Version: 1.0", content])


def _addresses(value: str, field: str) -> str:
    return ", ".join(formataddr((b.name or "", b.address)) for b in read_list(value, field))


def _encoded(value: str) -> str:
    return value if value.isascii() else Header(value, "utf-8", maxlinelen=LONGEST_LINE).encode()


def _part(kind: str, body: str) -> str:
    body = "\n".join(body.splitlines())
    way = "7bit"
    if not body.isascii() or any(len(line) > LONGEST_LINE for line in body.split("\n")):
        way, body = "quoted-printable", quopri.encodestring(body.encode()).decode()
    head = f"Content-Type: text/{kind}; charset=utf-8\r\nContent-Transfer-Encoding: {way}\r\n\r\n"
    return head + body.replace("\n", "\r\n") + "\r\n"


def _attachment(name: str) -> str:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'Content-Disposition: attachment; filename="{_encoded(quoted)}"\r\n\r\n'


def _together(kind: str, parts: list[str], message_id: str) -> str:
    """One part as it is, several as a multipart. The boundary is the same every time."""
    if len(parts) == 1:
        return parts[0]
    boundary = f"{kind}-{message_id}"
    inner = "".join(f"--{boundary}\r\n{part}\r\n" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="{boundary}"\r\n\r\n{inner}--{boundary}--\r\n'
