"""HTTP responses, and Postmark's refusals."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import orjson

JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"


class Transfer(Enum):
    """How the bytes of a response leave, or do not."""

    WHOLE = "whole"
    CLOSED = "closed"
    CUT = "cut"
    DRIPPED = "dripped"


@dataclass(slots=True)
class Response:
    """`wait_s` passes before the first byte leaves; a dripped response takes `drip_s` in all."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    transfer: Transfer = Transfer.WHOLE
    wait_s: float = 0.0
    drip_s: float = 0.0


class PostmarkError(Exception):
    """A refusal by Postmark: its ErrorCode, its sentence, the HTTP status."""

    def __init__(self, code: int, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status

    def response(self) -> Response:
        return error(self.code, self.message, self.status)


def ok(value: Any, status: int = 200) -> Response:
    return Response(status, orjson.dumps(value))


def error(code: int, message: str, status: int = 422) -> Response:
    """An error as Postmark writes it, its code also in the header `X-PM-ApiErrorCode`."""
    body = orjson.dumps({"ErrorCode": code, "Message": message})
    return Response(status, body, headers={"X-PM-ApiErrorCode": str(code)})


def plain(status: int, sentence: str) -> Response:
    return Response(status, f"{sentence}\n".encode(), TEXT)


def see_other(path: str) -> Response:
    """303: where to look after a form was posted."""
    return Response(303, b"", TEXT, {"Location": path})


def hung_up() -> Response:
    """No response at all."""
    return Response(0, b"", transfer=Transfer.CLOSED)
