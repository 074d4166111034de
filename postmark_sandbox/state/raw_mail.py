"""Build the raw mail that Postmark would send."""

from datetime import UTC, datetime
from email import policy
from email.header import Header
from email.message import EmailMessage
from email.utils import format_datetime, formataddr

from postmark_sandbox.rules.addresses import CONTROL, read_list
from postmark_sandbox.state.accepted_messages import Message
from postmark_sandbox.times import NS_PER_SECOND

# Postmark sets these headers itself and ignores the caller's values.
_RESERVED = (
    "from to cc bcc subject reply-to sender date received return-path content-type "
    "content-transfer-encoding mime-version x-pm-rcpt tag attachment track-opens track-links "
    "message-stream postmark-template-alias"
)
RESERVED = frozenset(_RESERVED.split())
PLACEHOLDER = "{{{ pm:unsubscribe }}}"
# Break lines well before the limit: a line of a mail has at most 998 bytes.
MAX_LINE_LENGTH = 990


def headers_of(message: Message, unsubscribe_url: str | None) -> list[tuple[str, str]]:
    """Return the mail's headers, in order.

    An `unsubscribe_url` adds the headers of RFC 8058.
    """
    item = message.item
    headers = [("From", item["From"])]
    for name, field in (("To", "To"), ("Cc", "Cc"), ("Reply-To", "ReplyTo")):
        if item.get(field):
            headers.append((name, item[field]))
    sent = datetime.fromtimestamp(message.at_ns // NS_PER_SECOND, UTC)
    headers += [("Subject", message.subject), ("Date", format_datetime(sent))]
    if not any(name.lower() == "message-id" for name, _ in message.headers):
        headers.append(("Message-ID", f"<{message.id}@mtasv.net>"))
    headers += [(name, value) for name, value in message.headers if name.lower() not in RESERVED]
    headers += [("X-PM-Message-Id", message.id), ("X-PM-Message-Stream", message.stream)]
    if message.tag:
        headers.append(("X-PM-Tag", message.tag))
    if unsubscribe_url is not None:
        headers.append(("List-Unsubscribe", f"<{unsubscribe_url}>"))
        headers.append(("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"))
    return headers


def body_of(message: Message, part: str, unsubscribe_url: str | None) -> str:
    """Return `HtmlBody` or `TextBody` with the unsubscribe link of Postmark filled in."""
    body: str = message.item.get(part) or ""
    if unsubscribe_url is None or not body:
        return body
    if PLACEHOLDER in body:
        return body.replace(PLACEHOLDER, unsubscribe_url)
    if part == "HtmlBody":
        return f'{body}\n<p><a href="{unsubscribe_url}">Unsubscribe</a></p>'
    return f"{body}\n\nUnsubscribe: {unsubscribe_url}\n"


def source(message: Message, unsubscribe_url: str | None = None) -> str:
    """Build the raw mail: headers, text, HTML, and attachments by name only.

    The standard library refuses to write some headers that Postmark lets through.
    """
    lines = [_header_line(name, value) for name, value in headers_of(message, unsubscribe_url)]
    mail = EmailMessage(policy.SMTP)
    for part in ("Text", "Html"):
        if body := body_of(message, f"{part}Body", unsubscribe_url):
            add = mail.add_alternative if "MIME-Version" in mail else mail.set_content
            add(body, subtype="plain" if part == "Text" else "html")
    for attachment in message.item.get("Attachments") or []:
        name = CONTROL.sub(" ", attachment["Name"])
        mail.add_attachment(b"", "application", "octet-stream", filename=name)
    for number, multipart in enumerate(part for part in mail.walk() if part.is_multipart()):
        # A fixed boundary makes the output reproducible.
        multipart.set_boundary(f"{number}-{message.id}")
    return "\r\n".join([*lines, mail.as_string()])


def _header_line(name: str, value: str) -> str:
    if name in ("From", "To", "Cc", "Reply-To"):
        boxes = read_list(value, name)
        return f"{name}: {', '.join(formataddr((b.name or '', b.address)) for b in boxes)}"
    encoded = Header(value, "utf-8", maxlinelen=MAX_LINE_LENGTH).encode
    return f"{name}: {value if value.isascii() else encoded()}"
