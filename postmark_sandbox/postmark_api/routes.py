"""The only place that says which endpoint of Postmark's API is answered by what."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from postmark_sandbox.faults.fault_rules import Fault, Moment
from postmark_sandbox.faults.spoil_response import instead, tampered
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Answer, Refused, ok, plain, refusal
from postmark_sandbox.pages.raw_mail import source
from postmark_sandbox.postmark_api.search import dates, described, details, paging, search
from postmark_sandbox.postmark_api.send import TEST_TOKEN, TOKEN_HEADER, send_batch, send_one
from postmark_sandbox.postmark_api.webhooks import (
    create_hook,
    edit_hook,
    list_hooks,
    remove_hook,
    show_hook,
    verify_hook,
)
from postmark_sandbox.state.streams import TYPES
from postmark_sandbox.state.suppressions import NO_AUTHORITY, addresses_in, why_not_an_address
from postmark_sandbox.times import NS_PER_SECOND, now_ns

if TYPE_CHECKING:
    from postmark_sandbox.sandbox import Sandbox

Endpoint = Callable[["Sandbox", Request, Fault | None, str], Answer]


def answer(sandbox: Sandbox, request: Request) -> Answer:
    """Answers a call to the API, with the fault that hits it, if any."""
    asks = sandbox.faults.watch_for_recipients()
    fault = sandbox.faults.on_request(request.path, request.recipients() if asks else ())
    if fault is not None:
        request.fault = fault.kind
        if fault.moment is Moment.INSTEAD:
            return instead(fault, request)
    try:
        reply = _judged(sandbox, request, fault)
    except Refused as refused:
        reply = refusal(refused)
    if fault is None:
        return reply
    if fault.kind == "webhook_before_reply":
        sandbox.webhooks.wait_until_told(fault.settings["seconds"])
    if fault.untold and request.parcel is not None:
        sandbox.outbox.mark_untold(request.parcel, fault.kind)
    return tampered(reply, fault)


def _judged(sandbox: Sandbox, request: Request, fault: Fault | None) -> Answer:
    token = request.headers.get(TOKEN_HEADER, "")
    if not token or (sandbox.tokens and token not in sandbox.tokens and token != TEST_TOKEN):
        raise Refused(10, "Request does not contain a valid Server token.", 401)
    _check_headers(request)
    known = False
    for method, pattern, endpoint in ENDPOINTS:
        match = pattern.fullmatch(request.path)
        if match is None:
            continue
        known = True
        if method == request.method:
            name = match.group(1) if match.re.groups else ""
            request.branch = request.path.replace(name, "{id}") if name else request.path
            return endpoint(sandbox, request, fault, name)
    if known:
        return plain(405, f"{request.method} is not possible here.")
    return plain(404, f"There is nothing at {request.path}.")


def _check_headers(request: Request) -> None:
    accept = request.headers.get("accept", "")
    accepts = any(kind in accept for kind in ("application/json", "application/*", "*/*"))
    content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not accepts or (request.body and content != "application/json"):
        raise Refused(
            409, "The headers 'Accept' and 'Content-Type' must be 'application/json'.", 415
        )


def _email(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    return send_one(sandbox, request, fault)


def _batch(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    return send_batch(sandbox, request, fault)


def _templates(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    raise Refused(1101, "The Template's 'ID' or 'Alias' is not valid or was not found.")


def _bulk(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    raise Refused(14, "The Bulk API is not enabled for this account.")


def _search(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    total, numbers = search(
        sandbox.outbox, request.query, visible_until_ns=_visible_until(request, fault)
    )
    messages = [described(sandbox.outbox.message(number)) for number in numbers]
    return ok({"TotalCount": total, "Messages": messages})


def _details(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    message = sandbox.outbox.message(_number(sandbox, request, fault, name))
    unsubscribe = sandbox.unsubscribe_url(message)
    return ok(details(message, sandbox.aftermath.events(message), unsubscribe))


def _dump(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    message = sandbox.outbox.message(_number(sandbox, request, fault, name))
    return ok({"Body": source(message, sandbox.unsubscribe_url(message))})


def _number(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> int:
    number = sandbox.outbox.number_of(name)
    until = _visible_until(request, fault)
    if number is None or (until is not None and sandbox.outbox.parcel_of(number).at_ns > until):
        raise Refused(701, "This message was not found.")
    return number


def _visible_until(request: Request, fault: Fault | None) -> int | None:
    if fault is None or fault.kind != "search_delay":
        return None
    return now_ns() - int(fault.settings["seconds"] * NS_PER_SECOND)


def _nothing_tracked(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    paging(request.query, 700, "Messages")
    return ok({"TotalCount": 0, name.capitalize(): []})


def _streams(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    kind = request.query.get("messagestreamtype", "All")
    if kind.lower() not in ("all", *(t.lower() for t in TYPES)):
        raise Refused(1224, f"The 'MessageStreamType' '{kind}' is not valid.")
    found = [stream.described() for stream in sandbox.streams.all(kind)]
    return ok({"MessageStreams": found, "TotalCount": len(found)})


def _stream(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    return ok(sandbox.streams.get(name).described())


def _suppression_dump(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    sandbox.streams.get(name)
    since, until = dates(request.query, 1400, "Suppressions")
    found = sandbox.suppressions.dump(name, request.query, since, until)
    return ok({"Suppressions": [entry.described() for entry in found]})


def _suppress(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    sandbox.streams.get(name)
    results = []
    for address in addresses_in(request.json()):
        wrong = why_not_an_address(address)
        if wrong is None:
            change = partial(
                sandbox.aftermath.suppress, name, address, "ManualSuppression", "Customer"
            )
            sandbox.later.after(_effect_after_s(fault), change)
        status = "Failed" if wrong else "Suppressed"
        results.append({"EmailAddress": address, "Status": status, "Message": wrong})
    return ok({"Suppressions": results})


def _reactivate(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    sandbox.streams.get(name)
    results = []
    for address in addresses_in(request.json()):
        wrong = why_not_an_address(address)
        if wrong is None:
            held = sandbox.suppressions.of(name).get(address.lower())
            if held is not None and not held.can_be_lifted():
                wrong = NO_AUTHORITY
            else:
                change = partial(sandbox.aftermath.lift, name, address)
                sandbox.later.after(_effect_after_s(fault), change)
        status = "Failed" if wrong else "Deleted"
        results.append({"EmailAddress": address, "Status": status, "Message": wrong})
    return ok({"Suppressions": results})


def _effect_after_s(fault: Fault | None) -> float:
    late = fault is not None and fault.kind == "suppression_delay"
    return float(fault.settings["seconds"]) if fault is not None and late else 0.0


def _bounces(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    count, offset = paging(request.query, 1000, "Bounces")
    since, until = dates(request.query, 1000, "Bounces")
    found = sandbox.bounces.search(request.query, since, until)
    page = [bounce.described() for bounce in found[offset : offset + count]]
    return ok({"TotalCount": len(found), "Bounces": page})


def _bounce(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    return ok(sandbox.bounces.get(name).described())


def _bounce_dump(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    return ok({"Body": sandbox.bounces.get(name).source})


def _activate(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    bounce = sandbox.bounces.get(name)
    held = sandbox.suppressions.of(bounce.stream).get(bounce.address.lower())
    if not bounce.type.can_activate or (held is not None and not held.can_be_lifted()):
        raise Refused(1003, "This bounce cannot be activated.")
    bounce.active_again = True
    lift = partial(sandbox.aftermath.lift, bounce.stream, bounce.address)
    sandbox.later.after(_effect_after_s(fault), lift)
    return ok({"Message": "OK", "Bounce": bounce.described()})


def _statistics(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    return ok(sandbox.bounces.statistics())


ENDPOINTS: list[tuple[str, re.Pattern[str], Endpoint]] = [
    (method, re.compile(pattern), endpoint)
    for method, pattern, endpoint in (
        ("POST", r"/email/batch", _batch),
        ("POST", r"/email", _email),
        ("POST", r"/email/withTemplate", _templates),
        ("POST", r"/email/batchWithTemplates", _templates),
        ("POST", r"/email/bulk", _bulk),
        ("GET", r"/email/bulk", _bulk),
        ("GET", r"/email/bulk/([^/]+)", _bulk),
        ("GET", r"/messages/outbound", _search),
        ("GET", r"/messages/outbound/(opens|clicks)", _nothing_tracked),
        ("GET", r"/messages/outbound/([^/]+)/details", _details),
        ("GET", r"/messages/outbound/([^/]+)/dump", _dump),
        ("GET", r"/message-streams", _streams),
        ("GET", r"/message-streams/([^/]+)", _stream),
        ("GET", r"/message-streams/([^/]+)/suppressions/dump", _suppression_dump),
        ("POST", r"/message-streams/([^/]+)/suppressions", _suppress),
        ("POST", r"/message-streams/([^/]+)/suppressions/delete", _reactivate),
        ("GET", r"/bounces", _bounces),
        ("GET", r"/bounces/([^/]+)", _bounce),
        ("GET", r"/bounces/([^/]+)/dump", _bounce_dump),
        ("PUT", r"/bounces/([^/]+)/activate", _activate),
        ("GET", r"/deliverystats", _statistics),
        ("GET", r"/webhooks", list_hooks),
        ("POST", r"/webhooks", create_hook),
        ("GET", r"/webhooks/([^/]+)", show_hook),
        ("PUT", r"/webhooks/([^/]+)", edit_hook),
        ("DELETE", r"/webhooks/([^/]+)", remove_hook),
        ("POST", r"/webhooks/([^/]+)/verify", verify_hook),
    )
]
BRANCHES = ("/email", "/messages/", "/message-streams", "/bounces", "/deliverystats", "/webhooks")


def is_api(path: str) -> bool:
    """Whether a path belongs to Postmark's API and not to the sandbox's own pages."""
    return path.startswith(BRANCHES)
