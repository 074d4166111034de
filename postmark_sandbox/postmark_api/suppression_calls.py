"""Endpoints `/message-streams` and their suppression lists."""

from typing import Any

from postmark_sandbox.http import PostmarkError, Response, ok
from postmark_sandbox.postmark_api.call import ApiCall, dates
from postmark_sandbox.rules.addresses import address_error
from postmark_sandbox.rules.streams import TYPES
from postmark_sandbox.state.suppressions import NO_AUTHORITY

MAX_COUNT = 50


def list_streams(call: ApiCall) -> Response:
    kind = call.request.query.get("messagestreamtype", "All")
    if kind.lower() not in ("all", *(t.lower() for t in TYPES)):
        raise PostmarkError(1224, f"The 'MessageStreamType' '{kind}' is not valid.")
    found = [stream.as_json() for stream in call.sandbox.streams.all(kind)]
    return ok({"MessageStreams": found, "TotalCount": len(found)})


def dump(call: ApiCall) -> Response:
    stream, query = call.sandbox.streams.get(call.id).id, call.request.query
    since, until = dates(query, 1400, "Suppressions")
    found = call.sandbox.suppressions.dump(stream, query, since, until)
    return ok({"Suppressions": [entry.as_json() for entry in found]})


def change(call: ApiCall) -> Response:
    """Suppress addresses, or lift suppressions; each address has its own result."""
    sandbox, stream = call.sandbox, call.sandbox.streams.get(call.id).id
    lifts = call.request.path.lower().endswith("/delete")
    results = []
    for address in _addresses(call):
        wrong = address_error(address)
        if wrong is None and lifts and sandbox.suppressions.blocks_lifting(stream, address):
            wrong = NO_AUTHORITY
        if wrong is None and lifts:
            sandbox.events.lift(stream, address)
        elif wrong is None:
            sandbox.events.suppress(stream, address, "ManualSuppression", "Customer")
        status = "Failed" if wrong else "Deleted" if lifts else "Suppressed"
        results.append({"EmailAddress": address, "Status": status, "Message": wrong})
    return ok({"Suppressions": results})


def _addresses(call: ApiCall) -> list[Any]:
    body = call.request.json
    entries = body.get("Suppressions") if isinstance(body, dict) else None
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise PostmarkError(1409, "The request body must hold a list of 'Suppressions'.")
    if len(entries) > MAX_COUNT:
        sentence = f"You may only change up to {MAX_COUNT} suppressions per request."
        raise PostmarkError(1410, sentence)
    return [entry.get("EmailAddress") for entry in entries]
