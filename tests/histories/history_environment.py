"""Environment of every history: one provider, one database, the same workers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection
from django.test import override_settings

from delivery.rules import retry_or_settle
from postmark_sandbox.server import SandboxServer
from tests.database.template import SEEDS
from tests.delivery.edition_factory import Newsroom
from tests.histories.reference_model import Row, TrueClock, Truth
from tests.histories.worker_thread import DEADLINE_S, LEASE_S, Hand

# The last worker never freezes, so at least one can always finish the work.
WORKERS = 4

LOOKUP_AFTER_S = (60.0, 300.0, 900.0)


@dataclass(slots=True)
class Stage:
    """Environment in which histories run one after another; `begin` clears it."""

    provider: SandboxServer
    hands: Sequence[Hand]
    newsroom: Newsroom = field(default_factory=Newsroom)

    def begin(self, *, resend_when_absent: bool) -> Truth:
        for hand in self.hands:
            if hand.frozen:
                hand.lose()
        self.provider.sandbox.reset()
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {SEEDS}.clean()")
        self.newsroom = Newsroom()
        truth = Truth(self.provider.sandbox, TrueClock())
        policy = retry_or_settle.Policy(
            retry_base_s=60.0,
            retry_cap_s=900.0,
            max_tries=4,
            lookup_after_s=LOOKUP_AFTER_S,
            resend_when_absent=resend_when_absent,
        )
        for hand in self.hands:
            hand.begin(truth, self.provider.url, policy)
        return truth

    def let_time_pass(self, truth: Truth, seconds: float) -> None:
        self.newsroom.let_time_pass(seconds)
        truth.clock.passed_s += seconds
        for stored in self.provider.sandbox.outbox.requests[::-1]:
            stored.at_ns -= int(seconds * 1e9)

    def let_held_calls_arrive(self, outcome: str = "answer") -> int:
        """Let the provider accept the calls that the network held, or `close` them."""
        sandbox = self.provider.sandbox
        before = sandbox.calls.count
        let_go = sandbox.gate.release(outcome)
        sandbox.gate.wait_until(lambda: sandbox.calls.count >= before + let_go, 30.0)
        return let_go


@contextmanager
def the_stage() -> Iterator[Stage]:
    """Run a provider and workers for any number of histories."""
    hands = [Hand(f"worker {number}") for number in range(WORKERS)]
    timing = override_settings(
        DELIVERY_HTTP_DEADLINE_S=DEADLINE_S, DELIVERY_LEASE_S=LEASE_S, DELIVERY_RATE_PER_S=None
    )
    with timing, SandboxServer() as provider:
        try:
            yield Stage(provider, hands)
        finally:
            for hand in hands:
                hand.end()


_ROWS = """
    SELECT replace(delivery.issue_id::text, '-', '') || '.' || delivery.version || '.'
               || delivery.recipient_id,
           outcome, coalesce(delivery.missed, false), provider_message_id, batch.state,
           (SELECT coalesce(array_agg(evidence.provider_message_id), '{}') FROM evidence
            WHERE evidence.issue_id = delivery.issue_id AND evidence.version = delivery.version
              AND evidence.recipient_id = delivery.recipient_id),
           control, edition.id
    FROM delivery JOIN batch ON batch.id = batch_id JOIN edition ON edition.id = batch.edition_id
    ORDER BY edition.id, delivery.recipient_id
"""


def rows() -> list[Row]:
    """Return every delivery of every edition, as the database has it."""
    with connection.cursor() as cursor:
        cursor.execute(_ROWS)
        return [Row(*row) for row in cursor.fetchall()]


def results_of_attempts() -> dict[str, str | None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT replace(id::text, '-', ''), result FROM attempt")
        return dict(cursor.fetchall())
