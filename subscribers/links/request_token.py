"""The token of a link in a mail on request, sealed for its purpose, reader and request number."""

from struct import Struct
from typing import NamedTuple

from subscribers.links.sealed_token import seal_all, unseal

PAYLOAD = Struct(">QI")  # a bigint and a count


class Request(NamedTuple):
    """Whose request, and which of theirs, counted from 1."""

    recipient: int
    number: int


def token_for(purpose: str, request: Request) -> str:
    """The token of this request, 32 characters; `purpose` has at most 16 bytes."""
    return seal_all(purpose, [PAYLOAD.pack(*request)])[0]


def read(purpose: str, token: str) -> Request | None:
    """The request, or None if we never gave out this token for `purpose`."""
    payload = unseal(purpose, token, PAYLOAD.size)
    return None if payload is None else Request(*PAYLOAD.unpack(payload))
