"""The token of an unsubscribe link: the reader's id, sealed (`sealed_token.py`)."""

from collections.abc import Iterable

from subscribers.links.sealed_token import seal_all, unseal

PURPOSE = "unsubscribe"
NUMBER_BYTES = 8  # a bigint


def token_for(subscriber_id: int) -> str:
    """The token of this reader; the same one every time. 28 characters, URL-safe."""
    return tokens_for([subscriber_id])[0]


def tokens_for(subscriber_ids: Iterable[int]) -> list[str]:
    """The tokens of these readers, in their order."""
    return seal_all(PURPOSE, [number.to_bytes(NUMBER_BYTES, "big") for number in subscriber_ids])


def read(token: str) -> int | None:
    """The reader's id, or None if we never gave out this token."""
    number = unseal(PURPOSE, token, NUMBER_BYTES)
    return None if number is None else int.from_bytes(number, "big")
