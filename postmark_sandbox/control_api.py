"""Control API under `/__sandbox__/`, for tests and scripts: JSON, no token."""

from collections.abc import Callable
from typing import Any

from postmark_sandbox.http import PostmarkError, Request, Response, error, ok
from postmark_sandbox.rules.magic_addresses import BOUNCE_TYPES, HARD_BOUNCE
from postmark_sandbox.sandbox_state import Sandbox
from postmark_sandbox.state.accepted_messages import Message, by_text
from postmark_sandbox.state.suppressions import ORIGINS, REASONS
from postmark_sandbox.times import utc_text

PREFIX = "/__sandbox__/"
MAX_WAIT_S = 600.0
MAX_MESSAGES = 5000
Json = dict[str, Any]
EVENTS = ("Delivery", "Bounce", "SpamComplaint", "Unsubscribe", "Reactivate")


def respond(sandbox: Sandbox, request: Request) -> Response:
    """Handle one control call; answer 400 with a sentence if it is invalid."""
    name, _, id_ = request.path.removeprefix(PREFIX).rstrip("/").partition("/")
    endpoint = ENDPOINTS.get((request.method, name))
    if endpoint is None or (id_ and name != "faults"):
        known = ", ".join(f"{method} {name}" for method, name in ENDPOINTS)
        return error(404, f"Nothing exists at {request.path}. Known paths: {known}.", 404)
    try:
        query = request.query | {"id": id_}
        found = endpoint(sandbox, _body(request) if request.method == "POST" else query)
    except (ValueError, PostmarkError) as wrong:
        return error(400, str(wrong), 400)
    return ok(found, 408 if found.get("reached") is False else 200)


def _messages(sandbox: Sandbox, query: Json) -> Json:
    count = min(_whole(query, "count", 100), MAX_MESSAGES)
    matches = by_text(query.get("q", ""))
    total, numbers = sandbox.outbox.find_page(matches, _whole(query, "offset", 0), count)
    listed = [_described(sandbox, sandbox.outbox.message(number)) for number in numbers]
    return {"total": total, "messages": listed}


def _described(sandbox: Sandbox, message: Message) -> Json:
    return {
        "id": message.id,
        "at": utc_text(message.at_ns),
        "stream": message.stream,
        "from": message.item["From"],
        "recipients": message.recipients,
        "subject": message.subject,
        "tag": message.tag,
        "metadata": message.metadata,
        "headers": message.item.get("Headers") or [],
        "reply": message.unreported_by,
        "happened": [event.label for event in sandbox.events.of(message.number)],
    }


def _copies(sandbox: Sandbox, query: Json) -> Json:
    least = 0 if query.get("all") == "1" else _whole(query, "more_than", 1)
    return {
        "distinct_deliveries": sandbox.outbox.counts()["distinct_deliveries"],
        "copies": sandbox.outbox.copies(lambda size: size > least),
    }


def _calls(sandbox: Sandbox, query: Json) -> Json:
    calls = sandbox.calls.newest_first(_whole(query, "count", 100))
    return {"total": sandbox.calls.count, "calls": [call.as_json() for call in calls]}


def _clear_faults(sandbox: Sandbox, query: Json) -> Json:
    number = query["id"]
    if number and not number.isdigit():
        raise ValueError(f"'{number}' is not the id of a fault.")
    return {"cleared": sandbox.faults.clear(int(number) if number else None)}


def _reset(sandbox: Sandbox, body: Json) -> Json:
    sandbox.reset()
    return {"reset": True}


def _release(sandbox: Sandbox, body: Json) -> Json:
    outcome = body.get("outcome", "answer")
    if outcome not in ("answer", "close"):
        raise ValueError(f"'outcome' is '{outcome}'; expected 'answer' or 'close'.")
    return {"released": sandbox.gate.release(outcome)}


def _wait(sandbox: Sandbox, query: Json) -> Json:
    timeout_s = min(float(query.get("timeout", 30)), MAX_WAIT_S)
    least = {name: _whole(query, name, 0) for name in ("held", "accepted", "calls")}

    def now() -> dict[str, int]:
        return {
            "held": sandbox.gate.held,
            "accepted": sandbox.outbox.counts()["accepted"],
            "calls": sandbox.calls.count,
        }

    def enough() -> bool:
        return all(found >= least[name] for name, found in now().items())

    return {"reached": sandbox.gate.wait_until(enough, timeout_s), **now()}


def _suppressions(sandbox: Sandbox, body: Json) -> Json:
    stream = sandbox.streams.get(str(body.get("stream", "broadcast"))).id
    reason, origin = body.get("reason", "HardBounce"), body.get("origin", "Recipient")
    addresses = body.get("addresses")
    if reason not in REASONS or origin not in ORIGINS or not isinstance(addresses, list):
        raise ValueError(
            f"Expected 'addresses' as a list, 'reason' one of {', '.join(REASONS)}, 'origin' one "
            f"of {', '.join(ORIGINS)}."
        )
    for address in addresses:
        sandbox.events.suppress(stream, str(address), reason, origin)
    return {"suppressed": len(addresses)}


def _account(sandbox: Sandbox, body: Json) -> Json:
    account = sandbox.account
    if "state" in body:
        sandbox.set_account(str(body["state"]))
    if "verified" in body:
        given = body["verified"]
        if not isinstance(given, list | None):
            raise ValueError("'verified' is a list of domains and addresses, or null for all.")
        account.verified = None if given is None else frozenset(str(v).lower() for v in given)
    verified = None if account.verified is None else sorted(account.verified)
    return {"state": account.state, "verified": verified}


def _events(sandbox: Sandbox, body: Json) -> Json:
    event, times = body.get("event"), int(body.get("times", 1))
    events = sandbox.events
    if event not in EVENTS or not 1 <= times <= 100:
        raise ValueError(f"'event' is one of {', '.join(EVENTS)}; 'times' is 1 to 100.")
    if event == "Reactivate":
        origin = body.get("origin", "Customer")
        if origin not in ORIGINS:
            raise ValueError(f"'origin' is '{origin}'; expected one of {', '.join(ORIGINS)}.")
        events.lift(str(body.get("stream", "broadcast")), str(body.get("address", "")), origin)
        return {"happened": event}
    message = _message(sandbox, body)
    address = str(body.get("address", message.recipients[0]))
    if event == "Delivery":
        events.delivered(message, address, times)
    elif event == "Unsubscribe":
        events.unsubscribe(message, address)
    else:
        kind = str(event if event == "SpamComplaint" else body.get("type"))
        events.bounce(message, address, BOUNCE_TYPES.get(kind.lower(), HARD_BOUNCE), times)
    return {"happened": event}


def _set_webhook(sandbox: Sandbox, body: Json) -> Json:
    url = body.get("url")
    sandbox.webhooks.hooks.set_catch_all(None if url is None else str(url))
    return sandbox.webhooks.counts()


def _list_webhooks(sandbox: Sandbox, query: Json) -> Json:
    hooks = sandbox.webhooks.hooks.all()
    listed = [{**hook.as_json(), "Verified": sorted(hook.verified)} for hook in hooks]
    return {**sandbox.webhooks.counts(), "webhooks": listed}


# Each function gets the query of a GET or DELETE, or the body of a POST.
ENDPOINTS: dict[tuple[str, str], Callable[[Sandbox, Json], Json]] = {
    ("GET", "summary"): lambda sandbox, _: sandbox.summary(),
    ("GET", "messages"): _messages,
    ("GET", "copies"): _copies,
    ("GET", "calls"): _calls,
    ("GET", "faults"): lambda sandbox, _: {"faults": [r.as_json() for r in sandbox.faults.all()]},
    ("POST", "faults"): lambda sandbox, body: sandbox.faults.set(body).as_json(),
    ("DELETE", "faults"): _clear_faults,
    ("POST", "reset"): _reset,
    ("POST", "release"): _release,
    ("GET", "wait"): _wait,
    ("POST", "suppressions"): _suppressions,
    ("POST", "account"): _account,
    ("POST", "events"): _events,
    ("GET", "webhooks"): _list_webhooks,
    ("POST", "webhooks"): _set_webhook,
    ("POST", "hurry"): lambda sandbox, _: {"webhooks": sandbox.webhooks.hurry()},
}


def _message(sandbox: Sandbox, body: Json) -> Message:
    message = sandbox.outbox.find(str(body.get("message", "")))
    if message is None:
        raise ValueError("'message' is the MessageID of an accepted message.")
    return message


def _body(request: Request) -> Json:
    read = request.json if request.body else {}
    if not isinstance(read, dict):
        raise ValueError("The body must be a JSON object.")
    return read


def _whole(query: Json, name: str, default: int) -> int:
    text = query.get(name, str(default))
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"'{name}' is '{text}'; expected a whole number.")
    return int(text)
