"""The only place that shows what happened to one message, and lets more of it happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postmark_sandbox.events.magic_addresses import BOUNCE_TYPES, Fate
from postmark_sandbox.events.message_events import Happening
from postmark_sandbox.events.one_click import ENCODINGS
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Answer, plain, see_other
from postmark_sandbox.pages.frame import glyph
from postmark_sandbox.pages.markup import Markup, fill, joined
from postmark_sandbox.state.outbox import Message
from postmark_sandbox.times import day_text

if TYPE_CHECKING:
    from postmark_sandbox.sandbox import Sandbox

# What changes nothing about where a message stands in the list.
NOTHING_NEW = (Fate.DELIVERED, Fate.ONE_CLICK)
# Each button: what is posted, what stands on it.
BUTTONS = {
    "delivered": "Delivered",
    "hard_bounce": "Hard bounce",
    "soft_bounce": "Soft bounce",
    "complaint": "Complaint",
    "unsubscribe": "Unsubscribe by Postmark's link",
    "reactivate": "Reactivate",
}


def events_part(sandbox: Sandbox, message: Message) -> Markup:
    """The part “Events” of a message."""
    return fill(
        PART,
        log=joined(_log(sandbox, message)),
        id=message.id,
        address=_address(message.recipients),
        buttons=joined(
            [
                fill('<button class="btn" name="event" value="{name}">{label}</button>', **button)
                for button in _buttons(sandbox, message)
            ]
        ),
        verdict=_verdict(sandbox, message),
    )


def let_happen(sandbox: Sandbox, request: Request, message_id: str) -> Answer:
    """`POST /message/{id}/events`: back to the message, or a sentence that says why not."""
    number = sandbox.outbox.number_of(message_id)
    if number is None:
        return plain(404, "This message is not in the inbox.")
    message = sandbox.outbox.message(number)
    form = request.form()
    event, address = form.get("event", ""), form.get("address", message.recipients[0])
    if event not in BUTTONS or address not in message.recipients:
        raise ValueError(
            f"Expected 'event' as one of {', '.join(BUTTONS)} and 'address' as one that the "
            "message went to."
        )
    after = sandbox.aftermath
    match event:
        case "delivered":
            after.delivered(message, address)
        case "hard_bounce" | "soft_bounce":
            after.bounce(message, address, BOUNCE_TYPES[event.replace("_", "")])
        case "complaint":
            after.complain(message, address)
        case "unsubscribe":
            after.unsubscribe(message, address)
        case "reactivate":
            after.reactivate(message, address)
    return see_other(f"/?message={message.id}&part=events")


def unsubscribe_as_provider(sandbox: Sandbox, request: Request, message_id: str) -> Answer:
    """`POST /message/{id}/one-click`: posts to the sender's link, then back to the message."""
    number = sandbox.outbox.number_of(message_id)
    if number is None:
        return plain(404, "This message is not in the inbox.")
    message = sandbox.outbox.message(number)
    sandbox.leave_by_one_click(message, request.form().get("encoding", ""))
    return see_other(f"/?message={message.id}&part=events")


def stated(happening: Happening) -> Markup:
    """A happening as a sign and a word."""
    if happening.fate in (Fate.DELIVERED, Fate.REACTIVATED):
        return state("sent", "sent", happening.word)
    if happening.fate in (Fate.DROPPED, Fate.UNSUBSCRIBED, Fate.ONE_CLICK):
        return state("withdrawn", "calm", happening.word)
    return state("failed", "fault", happening.word)


def state(mark: str, look: str, word: str) -> Markup:
    """A sign of the page and the word beside it."""
    return fill(
        '<span class="state {look}">{glyph}{word}</span>', look=look, glyph=glyph(mark), word=word
    )


def _log(sandbox: Sandbox, message: Message) -> list[Markup]:
    lines = [(message.at_ns, state("waiting", "calm", "Accepted"), f"for {message.stream}")]
    lines += [
        (message.at_ns, state("sent", "sent", "Delivered"), address)
        for address in sandbox.aftermath.arrived(message)
    ]
    lines += [
        (h.at_ns, stated(h), h.detail or h.address) for h in sandbox.aftermath.of(message.number)
    ]
    return [fill(LINE, at=day_text(at_ns), what=what, whom=whom) for at_ns, what, whom in lines]


def _buttons(sandbox: Sandbox, message: Message) -> list[dict[str, str]]:
    """Those of what can happen now: only who is suppressed, and did not complain, comes back."""
    listed = sandbox.suppressions.of(message.stream)
    held = [listed[a.lower()] for a in message.recipients if a.lower() in listed]
    back = any(entry.reason != "SpamComplaint" for entry in held)
    return [
        {"name": name, "label": label}
        for name, label in BUTTONS.items()
        if name != "reactivate" or back
    ]


def _address(recipients: list[str]) -> Markup:
    if len(recipients) == 1:
        return fill('<input type="hidden" name="address" value="{one}">', one=recipients[0])
    options = joined([fill("<option>{one}</option>", one=one) for one in recipients])
    return fill(WHOM, options=options)


def _verdict(sandbox: Sandbox, message: Message) -> Markup:
    offer = sandbox.offer_of(message)
    if offer.valid:
        return fill(
            VERDICT,
            look="sent",
            glyph=glyph("sent"),
            sentence="The headers are valid: one of each, one address, the exact value (RFC 8058).",
            more=fill('<p class="small id">{url}</p>', url=offer.url),
            form=fill(LEAVE, id=message.id, encodings=joined(_encodings())),
        )
    if not sandbox.streams.is_broadcast(message.stream):
        return fill(
            VERDICT,
            look="",
            glyph=glyph("withdrawn"),
            sentence="No button, and none is wanted: a transactional mail is asked for one by one.",
            more=Markup(""),
            form=Markup(""),
        )
    problems = joined([fill("<li>{problem}</li>", problem=p) for p in offer.problems])
    return fill(
        VERDICT,
        look="fault",
        glyph=glyph("failed"),
        sentence="The headers are not valid (RFC 8058): a mailbox provider shows no button.",
        more=fill('<ul class="small">{problems}</ul>', problems=problems),
        form=Markup(""),
    )


def _encodings() -> list[Markup]:
    return [
        fill('<button class="btn" name="encoding" value="{name}">Post {name}</button>', name=name)
        for name in ENCODINGS
    ]


PART = """<ol class="log events small">
{log}
</ol>
<h4>Let it happen</h4>
<form class="stack" method="post" action="/message/{id}/events">
{address}
<p class="acts">
{buttons}
</p></form>
<h4>Unsubscribe as a mailbox provider</h4>
{verdict}"""
LINE = (
    '<li><span class="quiet">{at}</span><span>{what} <span class="whom">{whom}</span></span></li>'
)
WHOM = """<div class="field"><label for="address">To whom</label>
<select id="address" name="address">
{options}
</select></div>"""
VERDICT = """<div class="note {look}">{glyph}<div><p>{sentence}</p>
{more}</div></div>
{form}"""
LEAVE = """<form method="post" action="/message/{id}/one-click"><p class="acts">
{encodings}
</p></form>"""
