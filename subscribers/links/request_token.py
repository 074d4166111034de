"""Tokens of links in transactional mail: purpose, reader and request number."""

from struct import Struct
from typing import NamedTuple

from subscribers.links.sealed_token import seal_all, unseal

PAYLOAD = Struct(">QI")  # the reader's id and the request's number


class Request(NamedTuple):
    """A reader's request. Each reader's requests are numbered from 1."""

    recipient: int
    number: int


def token_for(purpose: str, request: Request) -> str:
    """Seal a request in a token of 32 characters; `purpose` has at most 16 bytes."""
    return seal_all(purpose, [PAYLOAD.pack(*request)])[0]


def read(purpose: str, token: str) -> Request | None:
    """Return the request of a token; None if the token is not valid for `purpose`."""
    payload = unseal(purpose, token, PAYLOAD.size)
    return None if payload is None else Request(*PAYLOAD.unpack(payload))
