"""The only place where the parts of the sandbox meet: its whole state, and who answers what."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from postmark_sandbox import control_api
from postmark_sandbox.events.message_events import Aftermath
from postmark_sandbox.events.one_click import Offer, Tried, offer_of, try_it
from postmark_sandbox.events.send_webhooks import WAITS_S, Webhooks
from postmark_sandbox.events.timer import Later
from postmark_sandbox.faults.fault_rules import Fault, Faults, Rule
from postmark_sandbox.faults.gate import Gate
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Answer, Refused, Travel, plain, refusal
from postmark_sandbox.pages import routes as page_routes
from postmark_sandbox.pages.raw_mail import headers_of
from postmark_sandbox.postmark_api import routes as api_routes
from postmark_sandbox.postmark_api.validation import ACCOUNT_STATES, Rules
from postmark_sandbox.state.bounces import Bounces
from postmark_sandbox.state.call_log import Calls
from postmark_sandbox.state.outbox import Message, Outbox
from postmark_sandbox.state.streams import Streams
from postmark_sandbox.state.suppressions import Suppressions
from postmark_sandbox.times import now_ns


class Sandbox:
    """A Postmark server without the network: requests in, answers out.

    `tokens`: the only ones accepted, empty for any. `verified`: domains and addresses that may
    stand in From, None for any. `latency_s`: what every call to the API takes at least.
    `webhook_waits_s`: the waits between the tries of a webhook. `desk_url`: where its pages lead
    back to, if anywhere.
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
            raise ValueError(f"The address of the desk is '{desk_url}'; expected http://….")
        self.desk_url = desk_url
        self.url = ""
        self.latency_s = latency_s
        self.tokens = frozenset(tokens)
        self._verified = None if verified is None else frozenset(v.lower() for v in verified)
        self.verified = self._verified
        self.account = "active"
        self.streams = Streams(now_ns(), unsubscribe_handling, streams)
        self.outbox = Outbox(self.streams.is_broadcast)
        self.suppressions = Suppressions()
        self.bounces = Bounces()
        self.faults = Faults(seed)
        self.gate = Gate()
        self.calls = Calls()
        self.later = Later()
        self.webhooks = Webhooks(webhook_url, webhook_waits_s, self.faults)
        self.aftermath = Aftermath(self.outbox, self.bounces, self.suppressions, self.webhooks)

    # --- for whoever runs it in process

    def set_fault(self, kind: str, **settings: Any) -> Rule:
        """Puts a fault in force; the settings are those of `POST /__sandbox__/faults`."""
        return self.faults.set({"kind": kind, **settings})

    def summary(self) -> dict[str, Any]:
        """What was accepted, how often, and what was asked."""
        return {
            **self.outbox.counts(),
            "bounces": len(self.bounces),
            "calls": self.calls.counts(),
            "held": self.gate.held,
            "webhooks": self.webhooks.counts(),
        }

    def reset(self) -> None:
        """Back to how it started, also the account; what is held is let go and hung up on."""
        self.faults.clear()
        self.later.clear()
        self.gate.release("close")
        self.webhooks.clear()
        self.outbox.clear()
        self.aftermath.clear()
        self.bounces.clear()
        self.suppressions.clear()
        self.calls.clear()
        self.set_account("active")
        self.verified = self._verified

    def set_account(self, state: str) -> None:
        """`active`, `no_credits`, `pending` or `not_approved`."""
        if state not in ACCOUNT_STATES:
            raise ValueError(
                f"There is no account state '{state}'. Known: {', '.join(ACCOUNT_STATES)}."
            )
        self.account = state

    def rules(self) -> Rules:
        """What the account and the server allow now."""
        return Rules(
            streams=self.streams,
            suppressed={s.id: self.suppressions.of(s.id) for s in self.streams.all()},
            verified=self.verified,
            account=self.account,
        )

    def unsubscribe_url(self, message: Message) -> str | None:
        """Postmark's own unsubscribe link for a message, where Postmark handles unsubscribes."""
        stream = self.streams.get(message.stream)
        if stream.unsubscribe_handling != "Postmark":
            return None
        return f"{self.url}/unsubscribe/{message.id}/"

    def offer_of(self, message: Message) -> Offer:
        """What a mailbox provider makes of the headers that a message leaves with."""
        return offer_of(headers_of(message, self.unsubscribe_url(message)))

    def leave_by_one_click(self, message: Message, encoding: str) -> tuple[Offer, Tried]:
        """Presses the button “Unsubscribe” of a mailbox provider."""
        offer = self.offer_of(message)
        tried = try_it(offer, encoding)
        self.aftermath.tried_to_leave(message, tried, encoding)
        return offer, tried

    def hurry(self) -> dict[str, int]:
        """Lets everything that is late happen now; how much there was of it."""
        return {"changes": self.later.hurry(), "webhooks": self.webhooks.hurry()}

    # --- for the server

    def on_arrival(self, method: str, path: str) -> Fault | None:
        """The fault that hits a call before its request is read, noted in the log of calls."""
        fault = self.faults.on_arrival(path)
        if fault is not None:
            self.calls.add(
                at_ns=now_ns(),
                method=method,
                path=path,
                branch=path,
                status=0,
                ms=0.0,
                fault=fault.kind,
            )
            self.gate.changed()
        return fault

    def answer(self, request: Request) -> Answer:
        """The answer to any request. Calls to the API are logged; the sandbox's own are not."""
        if request.path.startswith("/__sandbox__/"):
            return _refusing(control_api.answer, self, request)
        if not api_routes.is_api(request.path):
            return _refusing(page_routes.answer, self, request)
        answer = api_routes.answer(self, request)
        spent_s = time.monotonic() - request.arrived
        answer.wait_s = max(answer.wait_s, self.latency_s - spent_s)
        return answer

    def answered(self, request: Request, answer: Answer, *, gone: bool) -> None:
        """Notes how a call ends. `gone`: the caller had left before the answer."""
        if not api_routes.is_api(request.path):
            return
        parcel = request.parcel
        if gone:
            self.caller_left(request)
        silent = gone or answer.travel is Travel.CLOSED
        self.calls.add(
            at_ns=request.at_ns,
            method=request.method,
            path=request.path,
            branch=request.branch or request.path,
            status=0 if silent else answer.status,
            ms=(time.monotonic() - request.arrived) * 1000,
            messages=request.messages,
            accepted=0 if parcel is None else parcel.size,
            fault=request.fault or ("caller_gone" if gone else ""),
        )
        self.gate.changed()

    def caller_left(self, request: Request) -> None:
        """Remembers that the caller did not stay for the answer."""
        if request.parcel is not None and not request.parcel.reply:
            self.outbox.mark_untold(request.parcel, "caller_gone")

    def stop(self) -> None:
        """Lets go of everything that waits."""
        self.gate.stop()
        self.later.stop()
        self.webhooks.stop()


def _refusing(part: Any, sandbox: Sandbox, request: Request) -> Answer:
    try:
        answer: Answer = part(sandbox, request)
    except Refused as refused:
        return refusal(refused)
    except ValueError as wrong:
        return plain(400, str(wrong))
    return answer
