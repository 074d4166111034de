"""The only place that spoils the telling of events: twice, late, of strangers, in a wrong order."""

from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from postmark_sandbox.faults.fault_rules import Rule
from postmark_sandbox.times import now_ns, utc_text


@dataclass(slots=True)
class Telling:
    """An event and when it is told: after so many seconds, and `again` that long after the first
    time. `window`: the rule that has it wait for others, to be told in another order."""

    event: dict[str, Any]
    after_s: float = 0.0
    again: list[float] = field(default_factory=list)
    window: Rule | None = None


def address_of(event: dict[str, Any]) -> str:
    """Whom an event is about, in lower case."""
    return str(event.get("Recipient") or event.get("Email") or "").lower()


def tellings(event: dict[str, Any], rules: list[Rule]) -> list[Telling]:
    """What is told instead of one event, in order, if these rules hit it: itself, and others
    beside it. All of the rules act."""
    itself = Telling(event)
    beside = []
    for rule in rules:
        settings = rule.settings
        match rule.kind:
            case "webhook_duplicate":
                itself.again += [settings["seconds"]] * (settings["k"] or 1)
            case "webhook_delay" | "webhook_very_late":
                itself.after_s = max(itself.after_s, settings["seconds"])
            case "webhook_reorder":
                itself.window = itself.window or rule
            case "webhook_unknown_message":
                beside.append(_of_a_stranger(event, rule.random))
            case "webhook_delivery_after_bounce" if event["RecordType"] == "Bounce":
                beside.append(_delivered_after_all(event))
    return [itself, *(Telling(other, itself.after_s) for other in beside)]


def shuffled(waiting: list[Any], random: Random) -> list[Any]:
    """Another order of the same, by chance; never the one they came in, unless it is only one."""
    mixed = list(waiting)
    random.shuffle(mixed)
    if all(one is other for one, other in zip(mixed, waiting, strict=True)):
        mixed.reverse()
    return mixed


def _of_a_stranger(event: dict[str, Any], random: Random) -> dict[str, Any]:
    """The same event about a message that nobody sent, to nobody one knows."""
    number = UUID(int=random.getrandbits(128), version=4)
    field_name = "Email" if "Email" in event else "Recipient"
    stranger = f"stranger-{number.hex[:12]}@unknown.example"
    other = {**event, "MessageID": str(number), field_name: stranger, "Metadata": {}}
    if "ID" in event:
        other["ID"] = random.getrandbits(60)
    return other


def _delivered_after_all(event: dict[str, Any]) -> dict[str, Any]:
    return {
        "RecordType": "Delivery",
        "MessageStream": event["MessageStream"],
        "ServerID": event["ServerID"],
        "MessageID": event["MessageID"],
        "Recipient": event["Email"],
        "Tag": event["Tag"],
        "DeliveredAt": utc_text(now_ns()),
        "Details": "250 2.0.0 OK",
        "Metadata": event["Metadata"],
    }
