"""Endpoints `POST /email` and `POST /email/batch`."""

from typing import Any
from uuid import uuid4

from postmark_sandbox.faults.call_faults import TEXTS, hold, keep_first, refuse_item
from postmark_sandbox.http import PostmarkError, Response, ok, plain
from postmark_sandbox.postmark_api.call import ApiCall
from postmark_sandbox.rules import validation
from postmark_sandbox.rules.validation import CheckedMessage
from postmark_sandbox.times import utc_text

# Postmark publishes this token; it is not secret.
TEST_TOKEN = "POSTMARK_API_TEST"  # noqa: S105
TOKEN_HEADER = "x-postmark-server-token"  # noqa: S105
HUNG_UP = Response(0, b"", closed=True)


def send_one(call: ApiCall) -> Response:
    """Handle `POST /email`: one message. A refusal has the status of its error."""
    item = call.request.json
    if not isinstance(item, dict):
        raise PostmarkError(402, "Invalid JSON: expected one message as an object.")
    if len(call.request.body) > validation.MESSAGE_BYTES:
        validation.check_fields(item)
        # Postmark does not document the body of its 413, so the sandbox does not answer with JSON.
        return plain(413, "The request is larger than 10 MB.")
    return _send(call, [item], batched=False)


def send_batch(call: ApiCall) -> Response:
    """Handle `POST /email/batch`: up to 500 messages, each with a result, in order."""
    items = call.request.json
    if not isinstance(items, list):
        raise PostmarkError(402, "Invalid JSON: expected a list of messages.")
    if len(items) > validation.MAX_MESSAGES:
        raise PostmarkError(410, TEXTS[410])
    return _send(call, items, batched=True)


def _send(call: ApiCall, items: list[Any], *, batched: bool) -> Response:
    call.messages = len(items)
    weigh = len(call.request.body) > validation.BODY_BYTES
    results: list[dict[str, Any]] = []
    accepted: dict[int, CheckedMessage] = {}
    for position, item in enumerate(items):
        result = {}
        try:
            message = validation.check(item, call.sandbox.account, batched=batched, weigh=weigh)
            refuse_item(call.fault, message, position)
            accepted[position] = message
        except PostmarkError as refused:
            if not batched:
                raise
            result = {"ErrorCode": refused.code, "Message": refused.message}
        results.append(result)

    if hold(call.fault, call.sandbox.gate, "before_accept") == "close":
        return HUNG_UP
    accepted = keep_first(call.fault, accepted)
    for position, result in _accept(call, accepted).items():
        results[position] = result
    if hold(call.fault, call.sandbox.gate, "after_accept") == "close":
        if call.stored is not None:
            call.sandbox.outbox.mark_unreported(call.stored, "hold")
        return HUNG_UP
    return ok(results if batched else results[0])


def _accept(call: ApiCall, accepted: dict[int, CheckedMessage]) -> dict[int, dict[str, Any]]:
    """Store the messages, except with the test token; return results by position."""
    sandbox, messages = call.sandbox, list(accepted.values())
    if call.request.headers.get(TOKEN_HEADER) == TEST_TOKEN:
        text, at_ns, ids = "Test job accepted", call.request.at_ns, [str(uuid4()) for _ in messages]
    elif messages:
        call.stored = stored = sandbox.outbox.accept(call.request.body, accepted)
        sandbox.events.accepted(stored, messages)
        sandbox.gate.changed()
        text, at_ns = "OK", stored.at_ns
        ids = [sandbox.outbox.id_of(stored.first + n) for n in range(stored.size)]
    else:
        return {}
    at = utc_text(at_ns)
    return {
        position: _result(message, message_id, at, text)
        for (position, message), message_id in zip(accepted.items(), ids, strict=True)
    }


def _result(message: CheckedMessage, message_id: str, at: str, text: str) -> dict[str, Any]:
    if message.inactive:
        left_out = ", ".join(message.inactive)
        text = f"Message OK, but will not deliver to these inactive addresses: {left_out}."
        text += f" {validation.INACTIVE}"
    result: dict[str, Any] = {"To": message.to} if message.to else {}
    return result | {"SubmittedAt": at, "MessageID": message_id, "ErrorCode": 0, "Message": text}
