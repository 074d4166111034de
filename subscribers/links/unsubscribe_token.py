"""Tokens of unsubscribe links: the reader's id, sealed (`sealed_token.py`)."""

from collections.abc import Iterable

from subscribers.links.sealed_token import seal_all, unseal

PURPOSE = "unsubscribe"
NUMBER_BYTES = 8  # a bigint


def token_for(subscriber_id: int) -> str:
    """Return the permanent token of a reader: 28 URL-safe characters."""
    return tokens_for([subscriber_id])[0]


def tokens_for(subscriber_ids: Iterable[int]) -> list[str]:
    """Return the tokens of these readers, in their order."""
    return seal_all(PURPOSE, [number.to_bytes(NUMBER_BYTES, "big") for number in subscriber_ids])


def read(token: str) -> int | None:
    """Return the reader's id; None if the token is unknown."""
    number = unseal(PURPOSE, token, NUMBER_BYTES)
    return None if number is None else int.from_bytes(number, "big")
