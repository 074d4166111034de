"""Complete state of a sandbox."""

from collections.abc import Iterable, Sequence
from typing import Any

from postmark_sandbox.events.message_events import MessageEvents
from postmark_sandbox.events.webhook_queue import WAITS_S, WebhookQueue
from postmark_sandbox.faults.fault_rules import FaultRule, FaultRules
from postmark_sandbox.faults.held_calls import Gate
from postmark_sandbox.rules.streams import Streams
from postmark_sandbox.rules.validation import ACCOUNT_STATES, Account
from postmark_sandbox.state.accepted_messages import Message, Outbox
from postmark_sandbox.state.bounces import Bounces
from postmark_sandbox.state.call_log import CallLog
from postmark_sandbox.state.suppressions import Suppressions
from postmark_sandbox.times import now_ns


class Sandbox:
    """A Postmark server's state and rules, without the network.

    `tokens` are the accepted server tokens; if empty, any token is accepted. `verified` are the
    domains and addresses allowed in From; None allows any. `latency_s` is the minimum duration of
    every API call. `webhook_waits_s` are the delays between the attempts of a webhook. `desk_url`
    is the URL of the desk, to which the pages link. If `desk_url` is empty, the pages do not link
    to a desk.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        tokens: Iterable[str] = (),
        verified: Iterable[str] | None = None,
        unsubscribe_handling: str = "Custom",
        streams: dict[str, str] | None = None,
        latency_s: float = 0.0,
        webhook_url: str | None = None,
        webhook_waits_s: Sequence[float] = WAITS_S,
        desk_url: str = "",
    ) -> None:
        if desk_url and not desk_url.startswith(("http://", "https://")):
            raise ValueError(f"The desk URL is '{desk_url}'; expected http://….")
        self.desk_url = desk_url
        self.url = ""
        self.latency_s = latency_s
        self.tokens = frozenset(tokens)
        self._verified = None if verified is None else frozenset(v.lower() for v in verified)
        self.streams = Streams(now_ns(), unsubscribe_handling, streams or {})
        self.outbox = Outbox(self.streams.is_broadcast)
        self.suppressions = Suppressions()
        self.account = Account(self.streams, self.suppressions.of, self._verified)
        self.bounces = Bounces()
        self.faults = FaultRules(seed)
        self.gate = Gate()
        self.calls = CallLog()
        self.webhooks = WebhookQueue(webhook_url, webhook_waits_s, self.faults)
        self.events = MessageEvents(self.outbox, self.bounces, self.suppressions, self.webhooks)

    def set_fault(self, kind: str, **settings: Any) -> FaultRule:
        """Activate a fault, with the same settings as in `POST /__sandbox__/faults`."""
        return self.faults.set({"kind": kind, **settings})

    def summary(self) -> dict[str, Any]:
        return {
            **self.outbox.counts(),
            "bounces": len(self.bounces),
            "calls": self.calls.counts(),
            "held": self.gate.held,
            "webhooks": self.webhooks.counts(),
        }

    def reset(self) -> None:
        """Reset everything, including the account, to the initial state; close held calls."""
        self.faults.clear()
        self.gate.release("close")
        stores = (self.outbox, self.events, self.bounces, self.suppressions, self.calls)
        for store in (self.webhooks, *stores):
            store.clear()
        self.account.state = "active"
        self.account.verified = self._verified

    def set_account(self, state: str) -> None:
        """Set the account state: `active`, `no_credits`, `pending` or `not_approved`."""
        if state not in ACCOUNT_STATES:
            known = ", ".join(ACCOUNT_STATES)
            raise ValueError(f"There is no account state '{state}'. Known states: {known}.")
        self.account.state = state

    def unsubscribe_url(self, message: Message) -> str | None:
        """Return Postmark's own unsubscribe link if Postmark handles unsubscribes."""
        if self.streams.get(message.stream).unsubscribe_handling != "Postmark":
            return None
        return f"{self.url}/unsubscribe/{message.id}/"

    def stop(self) -> None:
        """Release everything that waits, and end the threads."""
        self.gate.stop()
        self.webhooks.stop()
