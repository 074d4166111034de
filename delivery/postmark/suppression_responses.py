"""What Postmark answers about bounces, and to a change of suppressions. Pure. Source: Postmark's
API documentation, “Bounces” and “Suppressions”."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from delivery.postmark.responses import parse_object, parse_time
from delivery.rules.call_results import NoInformation
from delivery.rules.reason import Reason, ReasonCode

LONGEST_REASON = 300

BOUNCES = "list of bounces"
SUPPRESSION_LIST = "suppression list"
SUPPRESSION_CHANGE = "change of suppressions"


@dataclass(frozen=True, slots=True)
class BouncePage:
    """One page of bounces, newest first, as the bodies of the events they are, and the total."""

    events: Sequence[bytes]
    oldest_at: datetime | None
    total: int


def parse_bounce_page(
    status: int, headers: Mapping[str, str], body: bytes
) -> BouncePage | NoInformation:
    """One page of `GET /bounces`. Each of its bounces becomes the event of a webhook."""
    parsed = parse_object(status, headers, body, BOUNCES)
    if isinstance(parsed, NoInformation):
        return parsed
    bounces, total = parsed.get("Bounces"), parsed.get("TotalCount")
    if not isinstance(bounces, list) or not isinstance(total, int):
        return NoInformation(Reason.of(ReasonCode.QUERY_UNREADABLE, subject=BOUNCES))
    events = []
    for bounce in bounces:
        if not isinstance(bounce, dict):
            return NoInformation(Reason.of(ReasonCode.QUERY_UNREADABLE, subject=BOUNCES))
        is_complaint = bounce.get("Type") == "SpamComplaint"
        events.append(
            orjson.dumps(
                {**bounce, "RecordType": "SpamComplaint" if is_complaint else "Bounce"},
                option=orjson.OPT_SORT_KEYS,
            )
        )
    return BouncePage(events, parse_time(bounces[-1].get("BouncedAt")) if bounces else None, total)


def parse_suppression_results(
    status: int, headers: Mapping[str, str], body: bytes
) -> Mapping[str, str] | NoInformation:
    """Postmark's reason for refusing each address, case-folded; empty if done."""
    parsed = parse_object(status, headers, body, SUPPRESSION_CHANGE)
    if isinstance(parsed, NoInformation):
        return parsed
    items = parsed.get("Suppressions")
    if not isinstance(items, list):
        return NoInformation(Reason.of(ReasonCode.QUERY_UNREADABLE, subject=SUPPRESSION_CHANGE))
    answers: dict[str, str] = {}
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("EmailAddress"), str):
            continue
        address = item["EmailAddress"].strip().lower()
        if item.get("Status") in ("Suppressed", "Deleted"):
            answers[address] = ""
        elif item.get("Status") == "Failed":
            said = item.get("Message")
            shown = " ".join(said.split())[:LONGEST_REASON] if isinstance(said, str) else ""
            answers[address] = shown.replace("\x00", "") or "Postmark gave no reason."
    return answers
