"""The only place for what a reply of the sandbox is: a status, bytes, and how they travel."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import orjson

JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"


class Travel(Enum):
    """How the bytes of a reply leave, or do not."""

    WHOLE = "whole"
    CLOSED = "closed"
    CUT = "cut"
    DRIPPED = "dripped"


@dataclass(slots=True)
class Answer:
    """One reply. `wait_s` passes before its first byte leaves; `drip_s` is how long a dripped
    reply takes in all."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    travel: Travel = Travel.WHOLE
    wait_s: float = 0.0
    drip_s: float = 0.0


class Refused(Exception):  # noqa: N818 - what was done, not what went wrong
    """Something that Postmark would refuse: its ErrorCode, its sentence, the HTTP status."""

    def __init__(self, code: int, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


def ok(value: Any) -> Answer:
    """200 with a JSON body: Postmark answers no other success."""
    return Answer(200, orjson.dumps(value))


def error(code: int, message: str, status: int = 422) -> Answer:
    """An error as Postmark writes it, its code also in the header `X-PM-ApiErrorCode`."""
    body = orjson.dumps({"ErrorCode": code, "Message": message})
    return Answer(status, body, headers={"X-PM-ApiErrorCode": str(code)})


def refusal(refused: Refused) -> Answer:
    """The answer to a request that was refused as a whole."""
    return error(refused.code, refused.message, refused.status)


def plain(status: int, sentence: str) -> Answer:
    """One sentence as plain text: for what never reached the API."""
    return Answer(status, f"{sentence}\n".encode(), TEXT)


def see_other(path: str) -> Answer:
    """303: after a form was posted, look here."""
    return Answer(303, b"", TEXT, {"Location": path})
