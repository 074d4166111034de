"""The words for one reader's copy: when, and its evidence or reason. Pure."""

from collections.abc import Callable
from datetime import datetime

from delivery.interface import reason_sentence
from delivery.models import Delivery

NO_ADDRESS = "an erased reader"


def address_of(copy: Delivery) -> str:
    """The address of a copy; an erased reader has none."""
    return copy.address or NO_ADDRESS


def when_of(copy: Delivery) -> datetime | None:
    """When the copy got its outcome; None where no time is kept."""
    if copy.outcome == "unknown":
        return copy.batch.unknown_since
    return copy.sent_at


def why_of(
    copy: Delivery, clock: Callable[[datetime], str], *, held_until: datetime | None = None
) -> str:
    """The evidence that a copy was accepted, or why not; `held_until` ends its edition's hold."""
    match copy.outcome:
        case "sent":
            return f"{_accepted(copy)}{_came_of_it(copy, clock)}"
        case "unknown" if not copy.reason:
            return f"no answer came back; {_being_asked(copy, clock)}"
        case "waiting" if not copy.reason:
            return reason_sentence(copy.batch.reason) or _waits(copy, clock, held_until)
        case "withdrawn" if not copy.reason:
            return "it ended, or they left, before their copy"
        case _:
            missed = " It may be sent to the missed." if copy.missed else ""
            return f"{reason_sentence(copy.reason)}{missed}".strip()


def _waits(copy: Delivery, clock: Callable[[datetime], str], held_until: datetime | None) -> str:
    if copy.batch.state == "paused":
        return "waits until a person resumes it"
    if held_until is not None:
        return f"held until {clock(held_until)}"
    return "being sent" if copy.batch.state == "sending" else "queued"


def _accepted(copy: Delivery) -> str:
    by = "" if copy.evidence == "reply" else f" (found by {copy.evidence})"
    return f"accepted, message {copy.provider_message_id}{by}"


def _came_of_it(copy: Delivery, clock: Callable[[datetime], str]) -> str:
    later_events = (
        ("delivered", copy.delivered_at),
        ("bounced", copy.bounced_at),
        ("called spam", copy.complained_at),
    )
    return "".join(f"; {word} {clock(at)}" for word, at in later_events if at)


def _being_asked(copy: Delivery, clock: Callable[[datetime], str]) -> str:
    batch = copy.batch
    if batch.state == "parked":
        return "nothing was to be had by asking, and a person decides"
    asked = {0: "", 1: "asked once, "}.get(batch.lookups, f"asked {batch.lookups} times, ")
    when = f" at {clock(batch.due_at)}" if batch.state == "unknown" else " now"
    return f"{asked}Postmark is asked about it{when}"
