"""Faults of calls: refuse a call, keep some messages, alter the response."""

from dataclasses import replace
from typing import Any

import orjson

from postmark_sandbox.faults.fault_rules import FaultRule
from postmark_sandbox.faults.held_calls import Gate
from postmark_sandbox.http import HTML, PostmarkError, Request, Response, error, plain
from postmark_sandbox.rules.validation import ACCOUNT_REFUSALS, CheckedMessage, sender_text

DELAYED = "Message accepted, but delivery may be delayed."
TEXTS = {
    300: "Zero recipients specified",
    401: "The Sender Signature that you are sending from is not confirmed.",
    402: "Invalid JSON.",
    403: "Invalid request field(s): 'From'.",
    406: "You tried to send to a recipient that has been marked as inactive.",
    410: "You may only send up to 500 messages in a single batched request.",
    1226: "The message stream for the provided 'ID' was not found.",
    1235: "The stream provided: 'broadcast' does not exist on this server.",
    1236: "The stream provided: 'inbound' does not support sending.",
    **dict(ACCOUNT_REFUSALS.values()),
}
MAINTENANCE = (100, "Planned maintenance. The API is unavailable.", 503)
# The ErrorCode, the sentence and the HTTP status of each refusal.
REFUSALS = {
    "maintenance_503": MAINTENANCE,
    "search_503": MAINTENANCE,
    "refuse_429": (429, "Rate limit exceeded.", 429),
    "search_429": (429, "Rate limit exceeded.", 429),
    "unauthorized_401": (10, "Request does not contain a valid Server token.", 401),
}
HTML_PAGES = {
    "bad_gateway_502_html": (502, "502 Bad Gateway"),
    "forbidden_403_html": (403, "403 Forbidden"),
}


def text_of(code: int, sender: str) -> str:
    """Return the sentence of an ErrorCode; `sender` is the refused From address."""
    unknown = f"Refused on request with ErrorCode {code}."
    return sender_text(sender) if code == 400 else TEXTS.get(code, unknown)


def refusal(fault: FaultRule, request: Request) -> Response:
    """Return the response of a fault that refuses the whole call without checking it."""
    settings = fault.settings
    if fault.kind in HTML_PAGES:
        status, title = HTML_PAGES[fault.kind]
        page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
        return Response(status, page.encode(), HTML)
    if fault.kind == "payload_too_large_413":
        return plain(413, "Request Entity Too Large")
    if fault.kind == "whole_422":
        sender = next(iter(request.addresses("From")), "")
        return error(settings["code"], settings["text"] or text_of(settings["code"], sender))
    response = error(*REFUSALS[fault.kind])
    if settings.get("retry_after") is not None:
        response.headers["Retry-After"] = str(settings["retry_after"])
    return response


def refuse_item(fault: FaultRule | None, message: CheckedMessage, position: int) -> None:
    """Refuse one message of a call if the fault `item_error` hits it."""
    if fault is None or fault.kind != "item_error":
        return
    code, first, named = (fault.settings[name] for name in ("code", "k", "recipients"))
    hit = not named or any(address.lower() in named for address in message.recipients)
    if hit and (first is None or position < first):
        raise PostmarkError(code, fault.settings["text"] or text_of(code, message.sender))


def keep_first(
    fault: FaultRule | None, accepted: dict[int, CheckedMessage]
) -> dict[int, CheckedMessage]:
    """Return the positions of the messages to accept: all, or the first ones."""
    if fault is None or fault.kind != "accept_first_k_then_close":
        return accepted
    return dict(list(accepted.items())[: fault.settings["k"]])


def hold(fault: FaultRule | None, gate: Gate, moment: str) -> str:
    """Hold the call if the fault acts at this moment; return how it was released."""
    held = fault is not None and fault.kind == "hold" and fault.settings["moment"] == moment
    return gate.hold() if held else "answer"


def alter_response(response: Response, fault: FaultRule) -> Response:
    """Return the true response with the change that the fault makes."""
    seconds = fault.settings.get("seconds", 0.0)
    match fault.kind:
        case "accept_then_500":
            return error(101, "An unexpected error occurred.", 500)
        case "accept_then_close" | "accept_first_k_then_close" | "accept_then_stall":
            return replace(response, closed=True, wait_s=seconds)
        case "accept_then_truncate":
            return replace(response, cut=True)
        case "accept_then_garble":
            return replace(response, body=_garbled(response.body))
        case "accept_then_wrong_length":
            return replace(response, body=_one_too_few(response.body))
        case "accept_then_swap_ids":
            return replace(response, body=_with_swapped_ids(response.body))
        case "success_without_error_code":
            return replace(response, body=_without_code(response.body))
        case "slow":
            return replace(response, wait_s=seconds)
    return response


def _garbled(body: bytes) -> bytes:
    """Return a body of the same length, in whose middle some bytes are not JSON."""
    third = len(body) // 3
    noise = (b"\xff\x00<}" * len(body))[: len(body) - 2 * third]
    return body[:third] + noise + body[2 * third : 3 * third]


def _one_too_few(body: bytes) -> bytes:
    read: Any = orjson.loads(body)
    return orjson.dumps(read[:-1] if isinstance(read, list) else [])


def _with_swapped_ids(body: bytes) -> bytes:
    read: Any = orjson.loads(body)
    accepted = [one for one in read if "MessageID" in one] if isinstance(read, list) else []
    ids = [one["MessageID"] for one in accepted]
    for one, message_id in zip(accepted, reversed(ids), strict=True):
        one["MessageID"] = message_id
    return orjson.dumps(read)


def _without_code(body: bytes) -> bytes:
    read: Any = orjson.loads(body)
    for result in read if isinstance(read, list) else [read]:
        if isinstance(result, dict) and result.get("ErrorCode") == 0:
            del result["ErrorCode"]
            result["Message"] = DELAYED
    return orjson.dumps(read)
