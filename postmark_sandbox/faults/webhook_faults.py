"""Faults of webhooks: repeated, late, reordered and unknown events."""

from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from postmark_sandbox.faults.fault_rules import FaultRule
from postmark_sandbox.times import now_ns, utc_text

# Fields that a later Delivery event copies from the bounce of the same message.
KEPT_FIELDS = ("MessageStream", "ServerID", "MessageID", "Tag", "Metadata")


@dataclass(slots=True)
class PlannedEvent:
    """An event with the delays of its posts.

    If `window` is a rule, the event waits for other events, and all these events are then posted in
    another order.
    """

    event: dict[str, Any]
    after_s: float = 0.0
    again_s: list[float] = field(default_factory=list)
    window: FaultRule | None = None


def address_of(event: dict[str, Any]) -> str:
    return str(event.get("Recipient") or event.get("Email") or "").lower()


def plan(event: dict[str, Any], rules: list[FaultRule]) -> list[PlannedEvent]:
    """Return the posts for one event. All of `rules` hit this event.

    The plan contains the event, possibly late or repeated, and possibly other events.
    """
    itself = PlannedEvent(event)
    others = []
    for rule in rules:
        settings = rule.settings
        match rule.kind:
            case "webhook_duplicate":
                itself.again_s += [settings["seconds"]] * (settings["k"] or 1)
            case "webhook_delay" | "webhook_very_late":
                itself.after_s = max(itself.after_s, settings["seconds"])
            case "webhook_reorder":
                itself.window = itself.window or rule
            case "webhook_unknown_message":
                others.append(_of_unknown_message(event, rule.random))
            case "webhook_delivery_after_bounce" if event["RecordType"] == "Bounce":
                kept = {name: event[name] for name in KEPT_FIELDS}
                others.append(kept | delivery_fields(event["Email"]))
    return [itself, *(PlannedEvent(other, itself.after_s) for other in others)]


def shuffled(waiting: list[Any], random: Random) -> list[Any]:
    """Return the items in a different random order. A single item stays."""
    mixed = list(waiting)
    random.shuffle(mixed)
    if all(one is other for one, other in zip(mixed, waiting, strict=True)):
        mixed.reverse()
    return mixed


def delivery_fields(address: str) -> dict[str, Any]:
    """Return the fields of a `Delivery` except stream, message, tag and metadata."""
    return {
        "RecordType": "Delivery",
        "Recipient": address,
        "DeliveredAt": utc_text(now_ns()),
        "Details": "250 2.0.0 OK",
    }


def _of_unknown_message(event: dict[str, Any], random: Random) -> dict[str, Any]:
    number = UUID(int=random.getrandbits(128), version=4)
    field_name = "Email" if "Email" in event else "Recipient"
    address = f"stranger-{number.hex[:12]}@unknown.example"
    other = {**event, "MessageID": str(number), field_name: address, "Metadata": {}}
    if "ID" in event:
        other["ID"] = random.getrandbits(30)
    return other
