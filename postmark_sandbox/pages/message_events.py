"""The part “Events” of a message: what happened to it, and buttons for more."""

from collections.abc import Callable
from typing import Any

from postmark_sandbox.events.message_events import MessageEvent
from postmark_sandbox.events.one_click import ENCODINGS
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Response, see_other
from postmark_sandbox.rules.magic_addresses import BOUNCE_TYPES, EventType
from postmark_sandbox.sandbox import Sandbox
from postmark_sandbox.state.outbox import Message

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
    EventType.ONE_CLICK: ("withdrawn", "calm"),
    EventType.BOUNCED: ("failed", "fault"),
    EventType.COMPLAINED: ("failed", "fault"),
}


def events_context(sandbox: Sandbox, message: Message) -> dict[str, Any]:
    """What `events.html` shows."""
    listed = sandbox.suppressions.of(message.stream)
    held = [listed[a.lower()] for a in message.recipients if a.lower() in listed]
    can_return = any(entry.reason != "SpamComplaint" for entry in held)
    log = [(message.at_ns, ("waiting", "calm", "Accepted"), f"for {message.stream}")]
    delivered = sandbox.events.delivered_to(message)
    log += [(message.at_ns, ("sent", "sent", "Delivered"), address) for address in delivered]
    log += [
        (event.at_ns, event_state(event), event.detail or event.address)
        for event in sandbox.events.of(message.number)
    ]
    return {
        "log": log,
        "buttons": {
            name: label for name, label in BUTTONS.items() if name != "reactivate" or can_return
        },
        "link": sandbox.read_one_click_link(message),
        "is_broadcast": sandbox.streams.is_broadcast(message.stream),
        "encodings": list(ENCODINGS),
    }


def add_event(sandbox: Sandbox, request: Request, message: Message) -> Response:
    """`POST /message/{id}/events`: back to the message, or a sentence that says why not."""
    form, events = request.form(), sandbox.events
    event, address = form.get("event", ""), form.get("address", message.recipients[0])
    if event not in BUTTONS or address not in message.recipients:
        raise ValueError(
            f"Expected 'event' as one of {', '.join(BUTTONS)} and 'address' as one that the "
            "message went to."
        )
    actions: dict[str, Callable[[Message, str], None]] = {
        "delivered": events.delivered,
        "complaint": events.complain,
        "unsubscribe": events.unsubscribe,
        "reactivate": events.reactivate,
    }
    if event in actions:
        actions[event](message, address)
    else:
        events.bounce(message, address, BOUNCE_TYPES[event.replace("_", "")])
    return see_other(f"/?message={message.id}&part=events")


def one_click(sandbox: Sandbox, request: Request, message: Message) -> Response:
    """`POST /message/{id}/one-click`: post to the sender's link, then back to the message."""
    sandbox.unsubscribe_by_one_click(message, request.form().get("encoding", ""))
    return see_other(f"/?message={message.id}&part=events")


def event_state(event: MessageEvent) -> tuple[str, str, str]:
    """Glyph, look and word of an event."""
    return (*LOOKS[event.outcome], event.label)
