"""Tokens of the links in letters: the reader's id, sealed (`sealed_token.py`).

There are tokens for unsubscribing and tokens for choosing topics; each token works only for its
purpose.
"""

from collections.abc import Iterable

from subscribers.links.sealed_token import seal_all, unseal

UNSUBSCRIBE = "unsubscribe"
PREFERENCES = "preferences"
NUMBER_BYTES = 8  # the size of a bigint


def token_for(subscriber_id: int, purpose: str = UNSUBSCRIBE) -> str:
    """Return the permanent token of a reader: 28 URL-safe characters."""
    return tokens_for([subscriber_id], purpose)[0]


def tokens_for(subscriber_ids: Iterable[int], purpose: str = UNSUBSCRIBE) -> list[str]:
    """Return the tokens of these readers, in their order."""
    return seal_all(purpose, [number.to_bytes(NUMBER_BYTES, "big") for number in subscriber_ids])


def read(token: str, purpose: str = UNSUBSCRIBE) -> int | None:
    """Return the reader's id; None if the token is unknown for `purpose`."""
    number = unseal(purpose, token, NUMBER_BYTES)
    return None if number is None else int.from_bytes(number, "big")
