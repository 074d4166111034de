"""The only place that turns a message into the raw mail that would have left."""

from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any

from postmark_sandbox.addresses import Mailbox, read_list
from postmark_sandbox.outbox import Message
from postmark_sandbox.times import NS_PER_SECOND

# Names that Postmark sets itself; what a caller puts into Headers under them is not passed on.
_RESERVED = (
    "from to cc bcc subject reply-to sender date received return-path content-type "
    "content-transfer-encoding mime-version x-pm-rcpt tag attachment track-opens track-links "
    "message-stream postmark-template-alias"
)
RESERVED = frozenset(_RESERVED.split())
PLACEHOLDER = "{{{ pm:unsubscribe }}}"


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
    """The raw mail: headers, text and HTML as alternatives, attachments by name only."""
    # Long lines, because Python would write a long URL in a header as an encoded word.
    mail = EmailMessage(policy=SMTP.clone(utf8=False, max_line_length=990))
    for name, value in headers_of(message, unsubscribe_url):
        if name in ("From", "To", "Cc", "Reply-To"):
            boxes = read_list(value, name)
            mail[name] = [_address(box) for box in boxes]
        else:
            # A second header of a name that may stand once is left out, as a mail server would.
            try:
                mail[name] = value
            except ValueError:
                continue
    text = body_of(message, "TextBody", unsubscribe_url)
    html = body_of(message, "HtmlBody", unsubscribe_url)
    if text:
        mail.set_content(text)
    if html and text:
        mail.add_alternative(html, subtype="html")
    elif html:
        mail.set_content(html, subtype="html")
    for attachment in message.item.get("Attachments") or []:
        mail.add_attachment(
            b"", maintype="application", subtype="octet-stream", filename=attachment["Name"]
        )
    for place, part in enumerate(mail.walk()):
        if part.is_multipart():
            # The same source every time it is asked for.
            part.set_boundary(f"=_{place}_{message.id}")
    return mail.as_bytes().decode("utf-8", "replace")


def _address(box: Mailbox) -> Address:
    mailbox, _, domain = box.address.rpartition("@")
    return Address(display_name=box.name or "", username=mailbox, domain=domain)
