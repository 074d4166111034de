"""The only place for the control API under `/__sandbox__/`: for tests and scripts, in JSON.

These calls are not part of Postmark's API; they need no token and are not in the log of calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from postmark_sandbox.events.magic_addresses import BOUNCE_TYPES, HARD_BOUNCE
from postmark_sandbox.events.one_click import MULTIPART
from postmark_sandbox.faults.fault_rules import BadFault
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Answer, Refused, error, ok
from postmark_sandbox.pages.inbox import find
from postmark_sandbox.state.outbox import Message
from postmark_sandbox.state.suppressions import ORIGINS, REASONS
from postmark_sandbox.times import utc_text

if TYPE_CHECKING:
    from postmark_sandbox.sandbox import Sandbox

LONGEST_WAIT_S = 600.0
MOST_MESSAGES = 5000
EVENTS = ("Delivery", "Bounce", "SpamComplaint", "Unsubscribe", "Reactivate")


def answer(sandbox: Sandbox, request: Request) -> Answer:
    """Answers one control call; what it cannot read is refused with one sentence."""
    name, _, rest = request.path.removeprefix("/__sandbox__/").rstrip("/").partition("/")
    page = PAGES.get((request.method, name))
    if page is None or (rest and name != "faults"):
        known = ", ".join(f"{method} {name}" for method, name in PAGES)
        return error(404, f"There is nothing at {request.path}. Known: {known}.", 404)
    try:
        return page(sandbox, request, rest)
    except (BadFault, ValueError, Refused) as wrong:
        return error(400, str(wrong), 400)


def _summary(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    return ok(sandbox.summary())


def _messages(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    count = min(_whole(request.query, "count", 100), MOST_MESSAGES)
    offset = _whole(request.query, "offset", 0)
    total, numbers = find(sandbox.outbox, request.query.get("q", ""), offset, count)
    listed = [_described(sandbox, sandbox.outbox.message(number)) for number in numbers]
    return ok({"total": total, "messages": listed})


def _described(sandbox: Sandbox, message: Message) -> dict[str, Any]:
    item = message.item
    return {
        "id": message.id,
        "at": utc_text(message.at_ns),
        "stream": message.stream,
        "from": item["From"],
        "recipients": message.recipients,
        "subject": item.get("Subject") or "",
        "tag": item.get("Tag") or "",
        "metadata": message.metadata,
        "headers": item.get("Headers") or [],
        "reply": message.reply,
        "happened": [h.word for h in sandbox.aftermath.of(message.number)],
    }


def _copies(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    if request.query.get("all") == "1":
        copies = sandbox.outbox.copies(bool)
    else:
        least = _whole(request.query, "more_than", 1)
        copies = sandbox.outbox.copies(lambda size: size > least)
    distinct = sandbox.outbox.counts()["distinct_deliveries"]
    return ok({"distinct_deliveries": distinct, "copies": copies})


def _calls(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    calls = sandbox.calls.newest_first(_whole(request.query, "count", 100))
    return ok({"total": sandbox.calls.count, "calls": [call.described() for call in calls]})


def _list_faults(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    return ok({"faults": [rule.described() for rule in sandbox.faults.all()]})


def _set_fault(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    return ok(sandbox.faults.set(_object(request)).described())


def _clear_faults(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    if rest and not rest.isdigit():
        raise ValueError(f"'{rest}' is not the id of a fault.")
    return ok({"cleared": sandbox.faults.clear(int(rest) if rest else None)})


def _reset(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    sandbox.reset()
    return ok({"reset": True})


def _release(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    outcome = _object(request).get("outcome", "answer")
    if outcome not in ("answer", "close"):
        raise ValueError(f"'outcome' is '{outcome}'; expected 'answer' or 'close'.")
    return ok({"released": sandbox.gate.release(outcome)})


def _wait(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    timeout_s = min(float(request.query.get("timeout", 30)), LONGEST_WAIT_S)
    wanted = {name: _whole(request.query, name, 0) for name in ("held", "accepted", "calls")}

    def now() -> dict[str, int]:
        return {
            "held": sandbox.gate.held,
            "accepted": sandbox.outbox.count,
            "calls": sandbox.calls.count,
        }

    def so() -> bool:
        return all(now()[name] >= least for name, least in wanted.items())

    reached = sandbox.gate.wait_until(so, timeout_s)
    found = ok({"reached": reached, **now()})
    found.status = 200 if reached else 408
    return found


def _suppressions(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    body = _object(request)
    stream = sandbox.streams.get(str(body.get("stream", "broadcast"))).id
    reason, origin = body.get("reason", "HardBounce"), body.get("origin", "Recipient")
    addresses = body.get("addresses")
    if reason not in REASONS or origin not in ORIGINS or not isinstance(addresses, list):
        raise ValueError(
            f"Expected 'addresses' as a list, 'reason' one of {', '.join(REASONS)}, 'origin' one "
            f"of {', '.join(ORIGINS)}."
        )
    for address in addresses:
        sandbox.aftermath.suppress(stream, str(address), reason, origin)
    return ok({"suppressed": len(addresses)})


def _account(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    body = _object(request)
    if "state" in body:
        sandbox.set_account(str(body["state"]))
    if "verified" in body:
        verified = body["verified"]
        if not isinstance(verified, list | None):
            raise ValueError("'verified' is a list of domains and addresses, or null for all.")
        sandbox.verified = None if verified is None else frozenset(str(v).lower() for v in verified)
    verified_now = None if sandbox.verified is None else sorted(sandbox.verified)
    return ok({"state": sandbox.account, "verified": verified_now})


def _events(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    body = _object(request)
    event, times = body.get("event"), int(body.get("times", 1))
    if event not in EVENTS or not 1 <= times <= 100:
        raise ValueError(f"'event' is one of {', '.join(EVENTS)}; 'times' is 1 to 100.")
    if event == "Reactivate":
        origin = body.get("origin", "Customer")
        if origin not in ORIGINS:
            raise ValueError(f"'origin' is '{origin}'; expected one of {', '.join(ORIGINS)}.")
        stream, address = str(body.get("stream", "broadcast")), str(body.get("address", ""))
        sandbox.aftermath.lift(stream, address, origin)
        return ok({"happened": event})
    message = _message(sandbox, body)
    address = str(body.get("address", message.recipients[0]))
    if event == "Delivery":
        sandbox.aftermath.delivered(message, address, times)
    elif event == "Bounce":
        kind = BOUNCE_TYPES.get(str(body.get("type", "HardBounce")).lower(), HARD_BOUNCE)
        sandbox.aftermath.bounce(message, address, kind, times)
    elif event == "SpamComplaint":
        sandbox.aftermath.complain(message, address, times)
    else:
        sandbox.aftermath.unsubscribe(message, address)
    return ok({"happened": event})


def _one_click(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    body = _object(request)
    message = _message(sandbox, body)
    offer, tried = sandbox.leave_by_one_click(message, str(body.get("encoding", MULTIPART)))
    problems = list(offer.problems) if tried.works else [*offer.problems, tried.sentence]
    return ok({"status": tried.status, "valid": offer.valid, "problems": problems})


def _webhooks(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    url = _object(request).get("url")
    sandbox.webhooks.point_at(None if url is None else str(url))
    return ok(sandbox.webhooks.counts())


def _list_webhooks(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    found = [
        {**hook.described(), "Verified": sorted(hook.verified)}
        for hook in sandbox.webhooks.hooks.everyone()
    ]
    return ok({**sandbox.webhooks.counts(), "webhooks": found})


def _hurry(sandbox: Sandbox, request: Request, rest: str) -> Answer:
    return ok(sandbox.hurry())


PAGES = {
    ("GET", "summary"): _summary,
    ("GET", "messages"): _messages,
    ("GET", "copies"): _copies,
    ("GET", "calls"): _calls,
    ("GET", "faults"): _list_faults,
    ("POST", "faults"): _set_fault,
    ("DELETE", "faults"): _clear_faults,
    ("POST", "reset"): _reset,
    ("POST", "release"): _release,
    ("GET", "wait"): _wait,
    ("POST", "suppressions"): _suppressions,
    ("POST", "account"): _account,
    ("POST", "events"): _events,
    ("POST", "one-click"): _one_click,
    ("GET", "webhooks"): _list_webhooks,
    ("POST", "webhooks"): _webhooks,
    ("POST", "hurry"): _hurry,
}


def _message(sandbox: Sandbox, body: dict[str, Any]) -> Message:
    number = sandbox.outbox.number_of(str(body.get("message", "")))
    if number is None:
        raise ValueError("'message' is the MessageID of an accepted message.")
    return sandbox.outbox.message(number)


def _object(request: Request) -> dict[str, Any]:
    if not request.body:
        return {}
    try:
        read = orjson.loads(request.body)
    except orjson.JSONDecodeError as wrong:
        raise ValueError(f"The body is not JSON: {wrong}.") from None
    if not isinstance(read, dict):
        raise ValueError("The body must be a JSON object.")
    return read


def _whole(query: dict[str, str], name: str, default: int) -> int:
    text = query.get(name, str(default))
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"'{name}' is '{text}'; expected a whole number.")
    return int(text)
