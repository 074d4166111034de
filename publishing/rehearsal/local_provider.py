"""A local stand-in for the provider: the sandbox's rules without a server."""

from collections.abc import Iterator
from typing import Any

import orjson
from django.conf import settings

from delivery.interface import classify_message
from delivery.rules.outcomes import Sent
from delivery.rules.reason import Reason
from postmark_sandbox.http import PostmarkError
from postmark_sandbox.rules.streams import Streams
from postmark_sandbox.rules.validation import BODY_BYTES, Account, check


def _account() -> Account:
    streams = {
        settings.POSTMARK_BROADCAST_STREAM: "Broadcasts",
        settings.POSTMARK_TRANSACTIONAL_STREAM: "Transactional",
    }
    return Account(Streams(0, "None", streams), suppressed=lambda _: {})


class LocalProvider:
    """Checks each message of a call as Postmark would, and keeps nothing."""

    def __init__(self) -> None:
        self._account = _account()

    def check(self, call: bytes) -> Iterator[tuple[dict[str, Any], Reason | None]]:
        """Yield each message of a call, a JSON array, with the reason why it is refused."""
        for message in orjson.loads(call):
            # A call that is smaller than the limit of one part has no message above it.
            yield message, self._refusal(message, weigh=len(call) > BODY_BYTES)

    def _refusal(self, message: dict[str, Any], *, weigh: bool) -> Reason | None:
        try:
            check(message, self._account, batched=True, weigh=weigh)
        except PostmarkError as error:
            answer = {"ErrorCode": error.code, "Message": error.message}
            result = classify_message(answer, message["To"])
            return None if isinstance(result, Sent) else result.reason
        return None
