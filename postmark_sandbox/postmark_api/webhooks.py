"""The only place that answers `/webhooks`: setting them up, and verifying that they answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import orjson

from postmark_sandbox.events.send_webhooks import event_headers
from postmark_sandbox.faults.fault_rules import Fault
from postmark_sandbox.http.post import Posted, Poster
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Answer, Refused, ok
from postmark_sandbox.state.streams import SERVER_ID
from postmark_sandbox.state.webhooks import INVALID, NOT_VERIFIED, Hook, read_hook
from postmark_sandbox.times import now_ns, utc_text

if TYPE_CHECKING:
    from postmark_sandbox.sandbox import Sandbox

NOBODY = "verification@unknown.example"
NO_MESSAGE = "00000000-0000-0000-0000-000000000000"


def list_hooks(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    """`GET /webhooks`."""
    stream = request.query.get("messagestream")
    if stream is not None:
        sandbox.streams.get(stream)
    found = sandbox.webhooks.hooks.of(stream)
    return ok({"Webhooks": [hook.described() for hook in found]})


def show_hook(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    """`GET /webhooks/{id}`."""
    return ok(sandbox.webhooks.hooks.get(name).described())


def create_hook(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    """`POST /webhooks`: verified first, unless `Verify` is false."""
    body = request.json()
    hook = Hook(sandbox.webhooks.hooks.next_id(), "")
    read_hook(body, hook)
    hook.stream = sandbox.streams.get(str(body.get("MessageStream") or "outbound")).id
    return _kept(sandbox, hook, body)


def edit_hook(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    """`PUT /webhooks/{id}`: what the request does not name stays; all of it is verified anew."""
    before = sandbox.webhooks.hooks.get(name)
    body = request.json()
    hook = replace(before, lost={}, verified=set())
    read_hook(body, hook)
    if body.get("MessageStream") not in (None, before.stream):
        raise Refused(INVALID, "The 'MessageStream' of a webhook cannot be changed.")
    return _kept(sandbox, hook, body)


def remove_hook(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    """`DELETE /webhooks/{id}`."""
    gone = sandbox.webhooks.remove(name)
    return ok({"ErrorCode": 0, "Message": f"Webhook {gone.id} removed."})


def verify_hook(sandbox: Sandbox, request: Request, fault: Fault | None, name: str) -> Answer:
    """`POST /webhooks/{id}/verify`: 200 also if it fails. What succeeds is told from now on."""
    hook = sandbox.webhooks.hooks.get(name)
    results = verification(hook)
    hook.verified = {r["TriggerType"] for r in results if r["Success"]}
    hook.lost.clear()
    whole = all(result["Success"] for result in results)
    return ok(
        {
            "Id": hook.id,
            "Url": hook.url,
            "Success": whole,
            "Results": results,
            "Message": "The webhook was verified." if whole else _failed(results),
        }
    )


def verification(hook: Hook) -> list[dict[str, Any]]:
    """Posts one test event for each enabled trigger; each wants exactly 200."""
    results = []
    poster = Poster()
    for trigger in hook.enabled():
        event = orjson.dumps(made_up(trigger, hook.stream or "outbound"))
        posted = poster.post(hook.url, event, event_headers(hook, str(uuid4()), 0))
        results.append(
            {
                "TriggerType": trigger,
                "Success": posted.status == 200,
                "StatusCode": posted.status,
                "Message": "OK" if posted.status == 200 else _not_taken(posted),
            }
        )
    poster.hang_up()
    return results


def made_up(trigger: str, stream: str) -> dict[str, Any]:
    """An event that never happened, to nobody. Postmark's are not documented."""
    at = utc_text(now_ns())
    event: dict[str, Any] = {
        "RecordType": trigger,
        "MessageStream": stream,
        "ServerID": SERVER_ID,
        "MessageID": NO_MESSAGE,
        "Tag": "verification",
        "Metadata": {},
    }
    match trigger:
        case "Bounce" | "SpamComplaint":
            bounced = {
                "ID": 1,
                "Type": "HardBounce" if trigger == "Bounce" else trigger,
                "TypeCode": 1 if trigger == "Bounce" else 100001,
                "Name": "Hard bounce" if trigger == "Bounce" else "Spam complaint",
                "Description": "A test event.",
                "Details": "A test event.",
                "Email": NOBODY,
                "From": NOBODY,
                "BouncedAt": at,
                "DumpAvailable": False,
                "Inactive": True,
                "CanActivate": trigger == "Bounce",
                "Subject": "A test event",
            }
            return event | bounced
        case "SubscriptionChange":
            change = {
                "Recipient": NOBODY,
                "ChangedAt": at,
                "Origin": "Recipient",
                "SuppressSending": True,
                "SuppressionReason": "ManualSuppression",
            }
            return event | change
        case "Delivery":
            return event | {"Recipient": NOBODY, "DeliveredAt": at, "Details": "A test event."}
    opened = {"FirstOpen": True, "ReadSeconds": 0}
    clicked = {"ClickLocation": "HTML", "OriginalLink": "https://unknown.example/"}
    seen = {"Recipient": NOBODY, "ReceivedAt": at, "Platform": "Unknown", "Geo": {}}
    return event | seen | (opened if trigger == "Open" else clicked)


def _kept(sandbox: Sandbox, hook: Hook, body: dict[str, Any]) -> Answer:
    sandbox.webhooks.hooks.check_room(hook)
    if body.get("Verify", True) is not False:
        results = verification(hook)
        if not all(result["Success"] for result in results):
            raise Refused(NOT_VERIFIED, _failed(results))
        hook.verified = set(hook.enabled())
    sandbox.webhooks.keep(hook)
    return ok(hook.described())


def _not_taken(posted: Posted) -> str:
    found = f"answered {posted.status}" if posted.status else "gave no answer"
    where = f"It redirected to {posted.moved_to}, which" if posted.moved_to else "It"
    return f"{where} {found}; expected 200."


def _failed(results: list[dict[str, Any]]) -> str:
    failed = next(result for result in results if not result["Success"])
    return (
        "The webhook was not verified: a test event for "
        f"'{failed['TriggerType']}' was not taken. {failed['Message']}"
    )
