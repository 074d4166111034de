"""Endpoints `/webhooks`: set up webhooks and verify that they respond."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import orjson

from postmark_sandbox.events.message_events import bounce_webhook, subscription_webhook
from postmark_sandbox.faults.webhook_faults import delivery_fields
from postmark_sandbox.http import PostmarkError, Response, ok, post
from postmark_sandbox.postmark_api.call import ApiCall
from postmark_sandbox.rules.magic_addresses import HARD_BOUNCE, SPAM_COMPLAINT
from postmark_sandbox.rules.streams import SERVER_ID
from postmark_sandbox.state.accepted_messages import Message
from postmark_sandbox.state.bounces import BounceRecord
from postmark_sandbox.state.webhooks import MOVED, NOT_VERIFIED, Webhook
from postmark_sandbox.times import now_ns, utc_text

NOBODY = "verification@unknown.example"
NO_MESSAGE = "00000000-0000-0000-0000-000000000000"


def show_all(call: ApiCall) -> Response:
    stream = call.request.query.get("messagestream")
    if stream is not None:
        call.sandbox.streams.get(stream)
    return ok({"Webhooks": [hook.as_json() for hook in call.sandbox.webhooks.hooks.of(stream)]})


def create(call: ApiCall) -> Response:
    """Create a webhook, after verifying it unless `Verify` is false."""
    body = call.request.json
    hook = Webhook(call.sandbox.webhooks.hooks.next_id(), "")
    hook.update(body)
    hook.stream = call.sandbox.streams.get(str(body.get("MessageStream") or "outbound")).id
    return _save(call, hook, body)


def edit(call: ApiCall) -> Response:
    """Edit a webhook and verify it again. Omitted fields keep their values."""
    before = call.sandbox.webhooks.hooks.get(call.id)
    body = call.request.json
    hook = replace(before, lost={}, verified=set())
    hook.update(body)
    if body.get("MessageStream") not in (None, before.stream):
        raise PostmarkError(MOVED, "The 'MessageStream' of a webhook cannot be changed.")
    return _save(call, hook, body)


def remove(call: ApiCall) -> Response:
    removed = call.sandbox.webhooks.hooks.remove(call.id)
    return ok({"ErrorCode": 0, "Message": f"Webhook {removed.id} removed."})


def verify(call: ApiCall) -> Response:
    """Verify a webhook, which then gets events of the triggers whose test succeeded.

    The status is 200 even if the verification fails.
    """
    hook = call.sandbox.webhooks.hooks.get(call.id)
    results = _verify(hook)
    hook.verified = {r["TriggerType"] for r in results if r["Success"]}
    hook.lost.clear()
    failure = _failure(results)
    verdict = {"Success": failure is None, "Message": failure or "The webhook was verified."}
    return ok({"Id": hook.id, "Url": hook.url, "Results": results} | verdict)


def _save(call: ApiCall, hook: Webhook, body: dict[str, Any]) -> Response:
    hooks = call.sandbox.webhooks.hooks
    hooks.check_room(hook)
    if body.get("Verify", True) is not False:
        if failure := _failure(_verify(hook)):
            raise PostmarkError(NOT_VERIFIED, failure)
        hook.verified = set(hook.enabled())
    hooks.save(hook)
    return ok(hook.as_json())


def _verify(hook: Webhook) -> list[dict[str, Any]]:
    """Post one test event for each enabled trigger. Only the status 200 is a success."""
    results = []
    for trigger in hook.enabled():
        event = orjson.dumps(_test_event(trigger, hook.stream or "outbound"))
        status, wrong = post(hook.url, event, hook.headers_of_event(str(uuid4()), 0))
        found = f"gave no answer: {wrong}" if wrong else f"answered {status}"
        message = "OK" if status == 200 else f"It {found}; expected 200."
        result = {"TriggerType": trigger, "Success": status == 200, "StatusCode": status}
        results.append(result | {"Message": message})
    return results


def _failure(results: list[dict[str, Any]]) -> str | None:
    for result in results:
        if not result["Success"]:
            about = f"a test event for '{result['TriggerType']}' was not taken."
            return f"The webhook was not verified: {about} {result['Message']}"
    return None


def _test_event(trigger: str, stream: str) -> dict[str, Any]:
    """Build an event without a message. Postmark does not document its test events."""
    at_ns = now_ns()
    if trigger in ("Bounce", "SpamComplaint"):
        item = {"From": NOBODY, "Tag": "verification", "Subject": "A test event"}
        message = Message(0, NO_MESSAGE, at_ns, stream, [NOBODY], "", item)
        kind = HARD_BOUNCE if trigger == "Bounce" else SPAM_COMPLAINT
        return bounce_webhook(BounceRecord(1, kind, message, NOBODY, at_ns)) | {"Content": ""}
    seen = {"ReceivedAt": utc_text(at_ns), "Platform": "Unknown", "Geo": {}}
    own: dict[str, dict[str, Any]] = {
        "SubscriptionChange": subscription_webhook(stream, NOBODY, "Recipient", at_ns)
        | {"SuppressSending": True, "SuppressionReason": "ManualSuppression"},
        "Delivery": delivery_fields(NOBODY),
        "Open": {**seen, "FirstOpen": True, "ReadSeconds": 0},
        "Click": {**seen, "ClickLocation": "HTML", "OriginalLink": "https://unknown.example/"},
    }
    return own[trigger] | {
        "RecordType": trigger,
        "MessageStream": stream,
        "ServerID": SERVER_ID,
        "MessageID": NO_MESSAGE,
        "Recipient": NOBODY,
        "Tag": "verification",
        "Metadata": {},
    }
