"""The only place that takes messages in: `POST /email` and `POST /email/batch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from postmark_sandbox.faults.fault_rules import Fault
from postmark_sandbox.faults.spoil_response import hung_up, text_of
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Answer, Refused, ok, plain
from postmark_sandbox.postmark_api.validation import (
    BODY_BYTES,
    INACTIVE,
    MESSAGE_BYTES,
    MOST_MESSAGES,
    Letter,
    check,
    check_fields,
)
from postmark_sandbox.times import utc_text

if TYPE_CHECKING:
    from postmark_sandbox.sandbox import Sandbox

# Postmark publishes this token: it is no secret.
TEST_TOKEN = "POSTMARK_API_TEST"  # noqa: S105
TOKEN_HEADER = "x-postmark-server-token"  # noqa: S105


def send_one(sandbox: Sandbox, request: Request, fault: Fault | None) -> Answer:
    """`POST /email`: one message, refused with the status of its error."""
    item = request.json()
    if not isinstance(item, dict):
        raise Refused(402, "Invalid JSON: expected one message as an object.")
    if len(request.body) > MESSAGE_BYTES:
        check_fields(item)
        return too_large(MESSAGE_BYTES)
    return _send(sandbox, request, fault, [item], batched=False)


def send_batch(sandbox: Sandbox, request: Request, fault: Fault | None) -> Answer:
    """`POST /email/batch`: up to 500 messages, each with its own result, in order."""
    items = request.json()
    if not isinstance(items, list):
        raise Refused(402, "Invalid JSON: expected a list of messages.")
    if len(items) > MOST_MESSAGES:
        raise Refused(
            410, f"You may only send up to {MOST_MESSAGES} messages in a single batched request."
        )
    return _send(sandbox, request, fault, items, batched=True)


def too_large(limit: int) -> Answer:
    """413. What Postmark's says is not documented, so this one is not JSON."""
    return plain(413, f"The request is larger than {limit // 1024 // 1024} MB.")


def _send(
    sandbox: Sandbox, request: Request, fault: Fault | None, items: list[Any], *, batched: bool
) -> Answer:
    request.messages = len(items)
    rules = sandbox.rules()
    weigh = len(request.body) > BODY_BYTES
    results: list[dict[str, Any] | None] = []
    letters: list[Letter] = []
    positions: list[int] = []
    for position, item in enumerate(items):
        try:
            letter = check(item, rules, batched=batched, weigh=weigh)
            _refuse_on_request(fault, letter, position)
        except Refused as refused:
            if not batched:
                raise
            results.append({"ErrorCode": refused.code, "Message": refused.message})
            continue
        letters.append(letter)
        positions.append(position)
        results.append(None)

    if _held(sandbox, request, fault, "before_accept") == "close":
        return hung_up()
    if fault is not None and fault.kind == "accept_first_k_then_close":
        kept = fault.settings["k"]
        letters, positions = letters[:kept], positions[:kept]
    if request.headers.get(TOKEN_HEADER) == TEST_TOKEN:
        ids = [str(uuid4()) for _ in letters]
        _fill(results, positions, letters, ids, utc_text(request.at_ns), "Test job accepted")
    elif letters:
        whole = len(letters) == len(items)
        parcel = sandbox.outbox.accept(request.body, letters, None if whole else positions)
        request.parcel = parcel
        sandbox.aftermath.follows(parcel, letters)
        sandbox.gate.changed()
        ids = [sandbox.outbox.id_of(parcel.first + n) for n in range(parcel.size)]
        _fill(results, positions, letters, ids, utc_text(parcel.at_ns), "OK")
    if _held(sandbox, request, fault, "after_accept") == "close":
        if request.parcel is not None:
            sandbox.outbox.mark_untold(request.parcel, "hold")
        return hung_up()
    return ok(results if batched else results[0])


def _fill(
    results: list[dict[str, Any] | None],
    positions: list[int],
    letters: list[Letter],
    ids: list[str],
    at: str,
    message: str,
) -> None:
    for position, letter, message_id in zip(positions, letters, ids, strict=True):
        result: dict[str, Any] = {"To": letter.to} if letter.to else {}
        result["SubmittedAt"] = at
        result["MessageID"] = message_id
        result["ErrorCode"] = 0
        result["Message"] = message
        if letter.inactive:
            result["Message"] = (
                "Message OK, but will not deliver to these inactive addresses: "
                f"{', '.join(letter.inactive)}. {INACTIVE}"
            )
        results[position] = result


def _refuse_on_request(fault: Fault | None, letter: Letter, position: int) -> None:
    if fault is None or fault.kind != "item_error":
        return
    settings = fault.settings
    named, first = settings["recipients"], settings["k"]
    if named and not any(address.lower() in named for address in letter.recipients):
        return
    if first is not None and position >= first:
        return
    text = settings["text"] or text_of(settings["code"], letter.sender)
    raise Refused(settings["code"], text)


def _held(sandbox: Sandbox, request: Request, fault: Fault | None, moment: str) -> str:
    if fault is None or fault.kind != "hold" or fault.settings["moment"] != moment:
        return "answer"
    return sandbox.gate.hold(request.path)
