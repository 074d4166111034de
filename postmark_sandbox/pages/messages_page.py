"""Show the page of messages: the list, the parts of one message, and its HTML."""

import re
from typing import Any
from urllib.parse import urlencode

from postmark_sandbox.events.message_events import MessageEvent
from postmark_sandbox.faults.fault_rules import FAULT_KINDS
from postmark_sandbox.http import Request, Response, see_other
from postmark_sandbox.pages import layout
from postmark_sandbox.pages.layout import counted
from postmark_sandbox.rules.magic_addresses import BOUNCE_TYPES, OWN_WORDS, EventType
from postmark_sandbox.sandbox_state import Sandbox
from postmark_sandbox.state.accepted_messages import Message, by_text
from postmark_sandbox.state.raw_mail import body_of, headers_of, source

PER_PAGE = 20
PARTS = ("HTML", "Text", "Headers", "Source", "Events")
# The HTML of a mail may use inline styles, load images and open links in an ordinary window.
# Scripts, forms and all other contents are blocked.
MAIL_SANDBOX = "allow-popups allow-popups-to-escape-sandbox"
MAIL_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src * data:; frame-ancestors 'self'; "
    f"sandbox {MAIL_SANDBOX}"
)
# A tag before the doctype would change the browser's layout of the mail.
DOCTYPE = re.compile(r"\s*<!doctype[^>]*>", re.IGNORECASE)
# The body of a one-click unsubscribe request (RFC 8058, section 3.1).
ONE_CLICK = "List-Unsubscribe=One-Click"
LINKS_OPEN_OUTSIDE = '<base target="_blank">'

BUTTONS = {
    "delivered": "Delivered",
    "hard_bounce": "Hard bounce",
    "soft_bounce": "Soft bounce",
    "complaint": "Complaint",
    "unsubscribe": "Unsubscribe by Postmark's link",
    "reactivate": "Reactivate",
}
LOOKS = {
    EventType.DELIVERED: ("sent", "sent"),
    EventType.REACTIVATED: ("sent", "sent"),
    EventType.DROPPED: ("withdrawn", "calm"),
    EventType.UNSUBSCRIBED: ("withdrawn", "calm"),
    EventType.BOUNCED: ("failed", "fault"),
    EventType.COMPLAINED: ("failed", "fault"),
}


def show(sandbox: Sandbox, request: Request) -> Response:
    """Handle `GET /`: the list, newest first, with one message next to it."""
    query, outbox = request.query, sandbox.outbox
    text, page = query.get("q", ""), query.get("page", "")
    number = max(int(page), 1) if page.isascii() and page.isdigit() and len(page) < 9 else 1
    offset = (number - 1) * PER_PAGE
    total, numbers = outbox.find_page(by_text(text), offset, PER_PAGE)
    asked = outbox.number_of(query.get("message", ""))
    chosen = asked if asked is not None else next(iter(numbers), None)
    state = {"q": text, "page": page}
    values: dict[str, Any] = {}
    if chosen is not None:
        values = _message(sandbox, outbox.message(chosen), query.get("part", ""), state)
    return layout.page(
        sandbox,
        "Messages",
        "inbox.html",
        **_counts(sandbox),
        is_open=asked is not None,
        text=text,
        rows=[
            {
                "href": _link(state, message=outbox.id_of(one)),
                "is_chosen": one == chosen,
                "message": outbox.messages[one],
                "state": _state(sandbox, one),
            }
            for one in numbers
        ],
        total=total,
        first=offset + 1,
        last=offset + len(numbers),
        newer=_link({"q": text}, page=str(number - 1)) if number > 1 else "",
        older=_link({"q": text}, page=str(number + 1)) if offset + len(numbers) < total else "",
        **values,
    )


def show_html(sandbox: Sandbox, request: Request, message: Message) -> Response:
    """Return the HTML of one mail under its own security policy."""
    html = body_of(message, "HtmlBody", sandbox.unsubscribe_url(message))
    doctype = DOCTYPE.match(html)
    start = doctype.end() if doctype else 0
    html = html[:start] + LINKS_OPEN_OUTSIDE + html[start:]
    return layout.html_response(html, MAIL_POLICY, "no-referrer")


def add_event(sandbox: Sandbox, request: Request, message: Message) -> Response:
    """Handle `POST /message/{id}/events`: redirect to the message, or refuse."""
    form, events = request.form(), sandbox.events
    event, address = form.get("event", ""), form.get("address", message.recipients[0])
    if event not in BUTTONS or address not in message.recipients:
        known = f"'event' to be one of {', '.join(BUTTONS)}"
        raise ValueError(f"Expected {known} and 'address' to be a recipient of the message.")
    if event in ("delivered", "unsubscribe", "reactivate"):
        getattr(events, event)(message, address)
    else:
        word = event.replace("_", "")
        events.bounce(message, address, BOUNCE_TYPES[OWN_WORDS.get(word, word)])
    return see_other(f"/?message={message.id}&part=events")


def _counts(sandbox: Sandbox) -> dict[str, Any]:
    counts = sandbox.outbox.counts()
    by_stream = counts["by_stream"].items()
    broadcasts = sum(number for name, number in by_stream if sandbox.streams.is_broadcast(name))
    others = counts["accepted"] - broadcasts
    kinds = [counted(broadcasts, "broadcast message")] if broadcasts else []
    kinds += [counted(others, "transactional message")] if others else []
    repeated = ("readers_with_two_of_one_edition", "deliveries_with_more_than_one_copy")
    twice = max(counts[name] for name in repeated)
    named = counts["distinct_deliveries"]
    if twice:
        found = counted(twice, "reader has,readers have") + " two copies of one edition"
    else:
        found = "no reader has two copies of one edition" if named else "none has a delivery key"
    sentence = f"{' and '.join(kinds)}; {found}."
    if named and (unnamed := counts["without_delivery_key"]):
        sentence += f" Without a delivery key: {unnamed:,}."
    if unreported := counts["accepted_without_telling"]:
        sentence += f" Accepted, but the caller got no valid reply: {unreported:,}."
    return {"count": counts["accepted"], "twice": twice, "sentence": sentence}


def _state(sandbox: Sandbox, number: int) -> tuple[str, str, str]:
    # Leave deliveries out, because a repeated delivery does not change the state.
    events = [e for e in sandbox.events.of(number) if e.outcome is not EventType.DELIVERED]
    if events:
        return _event_state(events[-1])
    if fault := sandbox.outbox.messages[number].request.unreported_by:
        return "unknown", "doubt", _unreported(fault)
    return "sent", "sent", "Delivered"


def _unreported(fault: str) -> str:
    by_kind = {name: kind.unreported for name, kind in FAULT_KINDS.items()}
    return f"Accepted, {(by_kind | {'hold': 'reply dropped'}).get(fault, 'caller left')}"


def _message(
    sandbox: Sandbox, message: Message, part: str, state: dict[str, str]
) -> dict[str, Any]:
    parts = {label.lower(): label for label in PARTS}
    part = part if part in parts else "html"
    unsubscribe_url = sandbox.unsubscribe_url(message)
    delivery = message.metadata.get("delivery")
    values: dict[str, Any] = {
        "message": message,
        "message_id": message.header("Message-ID") or f"<{message.id}@mtasv.net>",
        "unsubscribe": _unsubscribe(sandbox, message),
        "copies": len(sandbox.outbox.with_metadata("delivery", delivery)) if delivery else 0,
        "changes": sandbox.events.of(message.number),
        "unreported": _unreported(message.unreported_by) if message.unreported_by else "",
        "back": _link(state),
        "part": part,
        "parts": [(n, parts[n], _link(state, message=message.id, part=n)) for n in parts],
    }
    match part:
        case "html":
            values |= {"mail_sandbox": MAIL_SANDBOX, "has_html": message.item.get("HtmlBody")}
        case "text":
            values["raw"] = body_of(message, "TextBody", unsubscribe_url)
        case "headers":
            metadata = [(f"Metadata {name}", value) for name, value in message.metadata.items()]
            values["headers"] = headers_of(message, unsubscribe_url) + metadata
        case "source":
            values["raw"] = source(message, unsubscribe_url)
        case "events":
            values["events"] = _events(sandbox, message)
    return values


def _unsubscribe(sandbox: Sandbox, message: Message) -> dict[str, object]:
    header = message.header("List-Unsubscribe")
    targets = [part.strip().strip("<>") for part in header.split(",")]
    return {
        "by_postmark": sandbox.unsubscribe_url(message),
        "header": header,
        "url": next((t for t in targets if t.lower().startswith(("http:", "https:"))), None),
        "is_one_click": message.header("List-Unsubscribe-Post") == ONE_CLICK,
    }


def _link(state: dict[str, str], **more: str) -> str:
    query = urlencode({name: value for name, value in (state | more).items() if value})
    return f"/?{query}" if query else "/"


def _events(sandbox: Sandbox, message: Message) -> dict[str, Any]:
    listed = sandbox.suppressions.of(message.stream)
    held = [listed[a.lower()] for a in message.recipients if a.lower() in listed]
    buttons = dict(BUTTONS)
    if all(entry.reason == "SpamComplaint" for entry in held):
        del buttons["reactivate"]
    events = sandbox.events
    log = [(message.at_ns, ("waiting", "calm", "Accepted"), f"for {message.stream}")]
    delivered = events.delivered_to(message)
    log += [(message.at_ns, ("sent", "sent", "Delivered"), address) for address in delivered]
    log += [(e.at_ns, _event_state(e), e.address) for e in events.of(message.number)]
    return {"log": log, "buttons": buttons}


def _event_state(event: MessageEvent) -> tuple[str, str, str]:
    return (*LOOKS[event.outcome], event.label)
