"""Routes of Postmark's API."""

import re
from collections.abc import Callable

from postmark_sandbox.faults.call_faults import alter_response, refusal
from postmark_sandbox.faults.fault_rules import FAULT_KINDS, FaultPoint
from postmark_sandbox.http import PostmarkError, Response, ok, plain
from postmark_sandbox.postmark_api import (
    bounce_calls,
    message_calls,
    send_calls,
    suppression_calls,
    webhook_calls,
)
from postmark_sandbox.postmark_api.call import ApiCall


def respond(call: ApiCall) -> Response:
    """Handle an API call, and apply the fault that hits it, if any."""
    sandbox, request = call.sandbox, call.request
    recipients: set[str] = set()
    if any(rule.recipient for rule in sandbox.faults.all()):
        recipients = {address.lower() for address in request.addresses("To")}
    points = (FaultPoint.INSTEAD, FaultPoint.REPLY)
    fault = call.fault = sandbox.faults.on_call(request.path, recipients, *points)
    if fault is not None and FAULT_KINDS[fault.kind].point is FaultPoint.INSTEAD:
        return refusal(fault, request)
    try:
        response = _handle(call)
    except PostmarkError as refused:
        response = refused.response()
    if fault is None:
        return response
    if FAULT_KINDS[fault.kind].unreported and call.stored is not None:
        sandbox.outbox.mark_unreported(call.stored, fault.kind)
    return alter_response(response, fault)


def _handle(call: ApiCall) -> Response:
    request, tokens = call.request, call.sandbox.tokens
    token = request.headers.get(send_calls.TOKEN_HEADER, "")
    if not token or (tokens and token not in tokens and token != send_calls.TEST_TOKEN):
        raise PostmarkError(10, "Request does not contain a valid Server token.", 401)
    accept = request.headers.get("accept", "")
    accepts = any(kind in accept for kind in ("application/json", "application/*", "*/*"))
    content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not accepts or (request.body and content != "application/json"):
        sentence = "The headers 'Accept' and 'Content-Type' must be 'application/json'."
        raise PostmarkError(409, sentence, 415)
    known = False
    for method, pattern, endpoint in ENDPOINTS:
        if match := pattern.fullmatch(request.path):
            known = True
            if method == request.method:
                call.id = match.group(1) if match.re.groups else ""
                return endpoint(call)
    if known:
        return plain(405, f"{request.method} is not possible here.")
    return plain(404, f"There is nothing at {request.path}.")


def _templates(call: ApiCall) -> Response:
    raise PostmarkError(1101, "The Template's 'ID' or 'Alias' is not valid or was not found.")


def _bulk(call: ApiCall) -> Response:
    raise PostmarkError(14, "The Bulk API is not enabled for this account.")


ENDPOINTS: list[tuple[str, re.Pattern[str], Callable[[ApiCall], Response]]] = [
    # Ignore the case of paths, because Postmark's JavaScript client calls `/deliveryStats`.
    (method, re.compile(path.replace("{id}", "([^/]+)"), re.IGNORECASE), endpoint)
    for method, path, endpoint in (
        ("POST", "/email/batch", send_calls.send_batch),
        ("POST", "/email", send_calls.send_one),
        ("POST", "/email/(?:withTemplate|batchWithTemplates)", _templates),
        ("POST", "/email/bulk", _bulk),
        ("GET", "/email/bulk(?:/[^/]+)?", _bulk),
        ("GET", "/messages/outbound", message_calls.search),
        ("GET", "/messages/outbound/{id}/(?:details|dump)", message_calls.show),
        ("GET", "/message-streams", suppression_calls.list_streams),
        ("GET", "/message-streams/{id}", lambda c: ok(c.sandbox.streams.get(c.id).as_json())),
        ("GET", "/message-streams/{id}/suppressions/dump", suppression_calls.dump),
        ("POST", "/message-streams/{id}/suppressions", suppression_calls.change),
        ("POST", "/message-streams/{id}/suppressions/delete", suppression_calls.change),
        ("GET", "/bounces", bounce_calls.search),
        ("GET", "/bounces/{id}", lambda c: ok(c.sandbox.bounces.get(c.id).as_json())),
        ("GET", "/bounces/{id}/dump", bounce_calls.dump),
        ("PUT", "/bounces/{id}/activate", bounce_calls.activate),
        ("GET", "/deliverystats", lambda c: ok(c.sandbox.bounces.statistics())),
        ("GET", "/webhooks", webhook_calls.show_all),
        ("POST", "/webhooks", webhook_calls.create),
        ("GET", "/webhooks/{id}", lambda c: ok(c.sandbox.webhooks.hooks.get(c.id).as_json())),
        ("PUT", "/webhooks/{id}", webhook_calls.edit),
        ("DELETE", "/webhooks/{id}", webhook_calls.remove),
        ("POST", "/webhooks/{id}/verify", webhook_calls.verify),
    )
]
PREFIXES = ("/email", "/messages/", "/message-streams", "/bounces", "/deliverystats", "/webhooks")
