"""The part “Events” of a message: what happened to it, and buttons for more."""

from collections.abc import Callable

from postmark_sandbox.events.message_events import MessageEvent
from postmark_sandbox.events.one_click import ENCODINGS
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Response, see_other
from postmark_sandbox.pages import layout
from postmark_sandbox.pages.layout import NOTHING, Markup, glyph, joined, options, state
from postmark_sandbox.rules.magic_addresses import BOUNCE_TYPES, EventType
from postmark_sandbox.sandbox import Sandbox
from postmark_sandbox.state.outbox import Message
from postmark_sandbox.times import day_text

render = layout.Templates("message_events.html")
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


def events_part(sandbox: Sandbox, message: Message) -> Markup:
    listed = sandbox.suppressions.of(message.stream)
    held = [listed[a.lower()] for a in message.recipients if a.lower() in listed]
    can_return = any(entry.reason != "SpamComplaint" for entry in held)
    shown = {name: label for name, label in BUTTONS.items() if name != "reactivate" or can_return}
    buttons = (render("button", field="event", value=name, label=shown[name]) for name in shown)
    return render(
        "part",
        log=joined(_log(sandbox, message)),
        id=message.id,
        address=_address_field(message.recipients),
        buttons=joined(buttons),
        verdict=_verdict(sandbox, message),
    )


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


def event_state(event: MessageEvent) -> Markup:
    return state(*LOOKS[event.outcome], event.label)


def _log(sandbox: Sandbox, message: Message) -> list[Markup]:
    accepted = state("waiting", "calm", "Accepted")
    delivered = state("sent", "sent", "Delivered")
    lines = [(message.at_ns, accepted, f"for {message.stream}")]
    lines += [(message.at_ns, delivered, one) for one in sandbox.events.delivered_to(message)]
    lines += [
        (event.at_ns, event_state(event), event.detail or event.address)
        for event in sandbox.events.of(message.number)
    ]
    return [render("line", at=day_text(at_ns), what=what, whom=whom) for at_ns, what, whom in lines]


def _address_field(recipients: list[str]) -> Markup:
    if len(recipients) == 1:
        return render("only_address", address=recipients[0])
    return render("address", options=options({one: one for one in recipients}, recipients[0]))


def _verdict(sandbox: Sandbox, message: Message) -> Markup:
    offer = sandbox.read_one_click_link(message)
    more = form = NOTHING
    if offer.valid:
        look = mark = "sent"
        sentence = "The headers are valid: one of each, one address, the exact value (RFC 8058)."
        more = render("link", url=offer.url)
        buttons = (
            render("button", field="encoding", value=name, label=f"Post {name}")
            for name in ENCODINGS
        )
        form = render("leave", id=message.id, buttons=joined(buttons))
    elif not sandbox.streams.is_broadcast(message.stream):
        look, mark = "", "withdrawn"
        sentence = "No button, and none is wanted: a transactional mail is asked for one by one."
    else:
        look, mark = "fault", "failed"
        sentence = "The headers are not valid (RFC 8058): a mailbox provider shows no button."
        problems = joined(render("problem", problem=p) for p in offer.problems)
        more = render("problems", problems=problems)
    return render("verdict", look=look, glyph=glyph(mark), sentence=sentence, more=more, form=form)
