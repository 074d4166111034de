"""The only place that spoils replies: what the caller sees of a fault."""

from dataclasses import replace
from typing import Any

import orjson

from postmark_sandbox.faults.fault_rules import Fault
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import HTML, Answer, Travel, error, plain
from postmark_sandbox.postmark_api.validation import ACCOUNT_TEXTS, from_text

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
    **dict(ACCOUNT_TEXTS.values()),
}


def text_of(code: int, sender: str) -> str:
    """The sentence that goes with an ErrorCode when the fault names none; `sender` is the address
    in From of the message that is refused."""
    if code == 400:
        return from_text(sender)
    return TEXTS.get(code, f"Refused on request with ErrorCode {code}.")


def instead(fault: Fault, request: Request) -> Answer:
    """What the caller gets instead of a judgement; nothing was accepted."""
    settings = fault.settings
    match fault.kind:
        case "refuse_429" | "search_429":
            answer = error(429, "Rate limit exceeded.", 429)
            if settings["retry_after"] is not None:
                answer.headers["Retry-After"] = str(settings["retry_after"])
            return answer
        case "maintenance_503" | "search_503":
            return error(100, "Planned maintenance. The API is not available just now.", 503)
        case "bad_gateway_502_html":
            return _page(502, "502 Bad Gateway")
        case "forbidden_403_html":
            return _page(403, "403 Forbidden")
        case "unauthorized_401":
            return error(10, "Request does not contain a valid Server token.", 401)
        case "payload_too_large_413":
            return plain(413, "Request Entity Too Large")
        case _:
            code = settings["code"]
            return error(code, settings["text"] or text_of(code, request.sender()))


def tampered(answer: Answer, fault: Fault) -> Answer:
    """The reply as the fault leaves it."""
    seconds = fault.settings.get("seconds", 0.0)
    match fault.kind:
        case "accept_then_close" | "accept_first_k_then_close":
            return replace(answer, travel=Travel.CLOSED)
        case "accept_then_500":
            return error(101, "An unexpected error occurred.", 500)
        case "accept_then_stall":
            return replace(answer, travel=Travel.CLOSED, wait_s=seconds)
        case "accept_then_drip":
            return replace(answer, travel=Travel.DRIPPED, drip_s=seconds)
        case "accept_then_truncate":
            return replace(answer, travel=Travel.CUT)
        case "accept_then_garble":
            return replace(answer, body=_garbled(answer.body))
        case "accept_then_wrong_length":
            return replace(answer, body=_one_too_few(answer.body))
        case "success_without_error_code":
            return replace(answer, body=_without_code(answer.body))
        case "slow":
            return replace(answer, wait_s=seconds)
        case _:
            return answer


def hung_up() -> Answer:
    """No answer at all."""
    return Answer(0, b"", travel=Travel.CLOSED)


def _page(status: int, title: str) -> Answer:
    page = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
    return Answer(status, page.encode(), HTML)


def _garbled(body: bytes) -> bytes:
    third = len(body) // 3
    noise = (b"\xff\x00<}" * (third // 4 + 1))[: len(body) - 2 * third]
    return body[:third] + noise + body[2 * third + len(noise) - (len(body) - 2 * third) :][:third]


def _one_too_few(body: bytes) -> bytes:
    read: Any = orjson.loads(body)
    return orjson.dumps(read[:-1] if isinstance(read, list) else [])


def _without_code(body: bytes) -> bytes:
    read: Any = orjson.loads(body)
    for result in read if isinstance(read, list) else [read]:
        if isinstance(result, dict) and result.get("ErrorCode") == 0:
            del result["ErrorCode"]
            result["Message"] = DELAYED
    return orjson.dumps(read)
