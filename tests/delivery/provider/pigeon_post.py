"""A made-up provider: pigeons, and a loft book of those that left.

It shows what somebody has to write for a provider of their own (docs/providers.md). The loft can
be asked about one copy at a time, has no streams, and reports arrivals by webhook.
"""

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar
from uuid import UUID

from delivery.provider.deadline_clock import now_s
from delivery.provider.events import Acceptance, Bounced, Delivered, WebhookEvent
from delivery.provider.provider_protocol import (
    Asks,
    Capabilities,
    CheckMail,
    Judged,
    Provider,
)
from delivery.rules import delivery_key
from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    CallResult,
    FoundMessage,
    LookupResult,
    MessageResult,
    NotSent,
    SearchAnswered,
    Unanswered,
)
from delivery.rules.outcomes import Failed, Sent
from delivery.rules.reason import Reason, ReasonCode

LOGIN = "keeper:a long password"
# Nobody lives here.
EMPTY_ROOF = "nobody@loft.example"


class Loft:
    """The pigeons that left, and the faults of the next calls."""

    left: ClassVar[list[dict[str, Any]]] = []
    loses_replies: ClassVar[bool] = False

    @classmethod
    def clear(cls) -> None:
        cls.left.clear()
        cls.loses_replies = False

    @classmethod
    def dispatch(cls, message: dict[str, Any]) -> str:
        ring = f"ring-{len(cls.left) + 1}"
        cls.left.append({"ring": ring, "at": datetime.now(UTC), **message})
        return ring


class PigeonPost(Provider):
    """A client of the loft."""

    def __init__(self) -> None:
        self.deadline_s = 5.0

    @classmethod
    def capabilities(cls) -> Capabilities:
        return Capabilities(
            name="Pigeon Post",
            asks=Asks.BY_COPY,
            largest_batch=5,
            batch=4,
            remembers_days=30,
            path="pigeon",
            login_settings=("PIGEON_KEEPER",),
            webhook_events={"arrived": "Arrived", "lost": "Lost to a hawk"},
        )

    @classmethod
    def judge(cls, call: bytes) -> Iterator[Judged]:
        for message, judged in zip(json.loads(call), super().judge(call), strict=True):
            is_heavy = len(message["text"]) > 1_000
            reason = Reason.of(ReasonCode.PROVIDER_ERROR, error_code=1, text="Too heavy")
            yield judged._replace(refusal=reason if is_heavy else None)

    def send(
        self,
        body: bytes,
        addresses: Sequence[str],
        *,
        deadline_at_s: float,
        about_to_complete: Callable[[], None] = lambda: None,
    ) -> CallResult:
        if now_s() >= deadline_at_s:
            return NotSent(Reason.of(ReasonCode.NO_TIME_LEFT))
        about_to_complete()
        results: list[MessageResult] = []
        for message, address in zip(json.loads(body), addresses, strict=True):
            if address.endswith("@sea.example"):
                reason = Reason.of(ReasonCode.PROVIDER_ERROR, error_code=2, text="No roof there")
                results.append(Failed(reason, refused=True))
            else:
                results.append(Sent(Loft.dispatch(message), None))
        if Loft.loses_replies:
            return Unanswered(Reason.of(ReasonCode.CONNECTION_BROKE, error="Fog"))
        sent = [one for one in results if isinstance(one, Sent)]
        if len(sent) == len(results):
            return AllAccepted([one.message_id for one in sent], [None] * len(sent))
        return Answered(results)

    def search(
        self, field_name: str, value: str, *, stream: str, deadline_at_s: float
    ) -> LookupResult:
        assert field_name in {"delivery", "check"} or Loft.left
        return SearchAnswered(
            [
                FoundMessage(
                    one["metadata"].get("delivery", ""),
                    one["ring"],
                    one["at"],
                    one["metadata"].get("attempt", ""),
                )
                for one in Loft.left
                if one["metadata"].get(field_name) == value
            ]
        )

    def check_mail(self, sender: str, stream: str, check: str) -> CheckMail:
        message = {"to": EMPTY_ROOF, "metadata": {"check": check}}
        return CheckMail(json.dumps([message]).encode(), EMPTY_ROOF)

    @classmethod
    def webhook_login(cls) -> str:
        return LOGIN

    @classmethod
    def parse_webhook(cls, body: bytes) -> WebhookEvent:
        try:
            event = json.loads(body)
            metadata = event["metadata"]
            at, address = datetime.fromisoformat(event["at"]), event["to"]
            key, attempt = delivery_key.read(metadata["delivery"]), UUID(metadata["attempt"])
        except (ValueError, KeyError, TypeError):
            return WebhookEvent("", None)
        if key is None:
            return WebhookEvent("", None)
        about: dict[str, Any] = {
            "address": address,
            "at": at,
            "delivery": key,
            "message_id": event["ring"],
        }
        is_lost = event["kind"] == "lost"
        return WebhookEvent(
            event["kind"],
            Acceptance(key, event["ring"], attempt, at),
            Bounced(**about, bounce=None, kind="HardBounce", inactive=False)
            if is_lost
            else Delivered(**about),
            address_key=address.lower(),
        )


def report(bird: dict[str, Any], kind: str) -> bytes:
    """Write the webhook about a bird that arrived or was lost."""
    event = {
        "kind": kind,
        "ring": bird["ring"],
        "to": bird["to"],
        "at": datetime.now(UTC).isoformat(),
        "metadata": bird["metadata"],
    }
    return json.dumps(event).encode()


def authorization() -> str:
    return f"Basic {base64.b64encode(LOGIN.encode()).decode()}"
