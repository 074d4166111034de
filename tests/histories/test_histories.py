"""Random histories of publishing and delivery, seeded and replayable.

Hypothesis chooses the steps and shortens a history that fails. After each step the counts balance,
and no reader has a second copy unless an author chose to resend. At the end every copy is accounted
for. For more histories: `HOMING_HISTORIES=200 ./homing test tests/histories --hypothesis-seed 7`.
"""

import functools
import os
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import ClassVar, NamedTuple

import orjson
import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import override_settings
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from delivery.feedback import event_inbox
from delivery.models import Edition
from delivery.queue import edition_control
from delivery.reports.audit import AuditRule, find_violations
from delivery.reports.load_edition_counts import load_all_counts
from postmark_sandbox.server import SandboxServer
from publishing.content.edition_content import Content
from publishing.editions.versions import VersionRefusedError
from subscribers.models import Subscriber, Suppression
from tests.database.template import SEEDS
from tests.delivery.edition_factory import Newsroom
from tests.histories.drawn_faults import OF_A_CALL, SEARCH_IS_DOWN, SEARCH_LAGS_S, LossPoint
from tests.histories.history_worker import DEADLINE_S, LEASE_S, LOOKUP_AFTER_S, HistoryWorker
from tests.publishing.publish_with import publish

HISTORIES = int(os.environ.get("HOMING_HISTORIES", "0"))
WORKERS = 3
MOST_EDITIONS = 3
MOST_TURNS = 80
HOUR_S = 3600.0

a_fault = st.sampled_from(["", "accepted, then closed", *OF_A_CALL])
an_index = st.integers(0, 5)
# As on the desk, asking again makes one more look-up.
ask_again = functools.partial(edition_control.ask_again, silences=len(LOOKUP_AFTER_S) - 1)
DECISIONS: Mapping[str, Callable[[int], int | None]] = {
    "resume": edition_control.resume,
    "pause": edition_control.pause,
    "send now": edition_control.send_now,
    "call back": edition_control.call_back,
    "cancel": edition_control.cancel,
    "close": edition_control.close,
    "ask again": ask_again,
    "send to missed": functools.partial(edition_control.send_to_missed, batch_size=2),
    "resend unknown": edition_control.resend_unknown,
}
# Decisions that continue a history are drawn more often than decisions that end it.
DECIDED = (*["resume"] * 5, *["pause", "ask again", "resend unknown", "send to missed"] * 2)


class Row(NamedTuple):
    """A delivery as the database has it; `evidence` holds its recorded provider ids."""

    key: str
    outcome: str
    missed: bool
    bears: str | None
    batch_state: str
    evidence: Collection[str]
    control: str


def rows() -> list[Row]:
    """Return every delivery of every edition."""
    with connection.cursor() as cursor:
        cursor.execute("""
            SELECT replace(d.issue_id::text, '-', '') || '.' || d.version || '.' || d.recipient_id,
                   d.outcome, coalesce(d.missed, false), d.provider_message_id, batch.state,
                   (SELECT coalesce(array_agg(e.provider_message_id), '{}') FROM evidence AS e
                    WHERE (e.issue_id, e.version, e.recipient_id)
                        = (d.issue_id, d.version, d.recipient_id)), control
            FROM delivery AS d JOIN batch ON batch.id = batch_id
            JOIN edition ON edition.id = batch.edition_id ORDER BY edition.id, d.recipient_id
        """)
        return [Row(*row) for row in cursor.fetchall()]


class Histories(RuleBasedStateMachine):
    """The possible steps, and the checks after each step. The test sets `provider`."""

    provider: ClassVar[SandboxServer]

    @initialize(
        readers=st.integers(2, 6),
        batch=st.integers(1, 3),
        hold_s=st.sampled_from([0.0, 0.0, 600.0]),
        resends=st.sampled_from([True, True, False]),
    )
    def begin(self, readers: int, batch: int, hold_s: float, resends: bool) -> None:
        """Publish the first edition; empty the database and the provider before."""
        self.sandbox = self.provider.sandbox
        self.sandbox.reset()
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {SEEDS}.clean()")
        self.newsroom = Newsroom()
        url = self.provider.url
        self.workers = [
            HistoryWorker(self.sandbox, url, self, resends=resends) for _ in range(WORKERS)
        ]
        self.passed_s = 0.0
        self.clock_was_set = False
        self.editions: list[Edition] = []
        self.held_until_s: dict[str, float] = {}
        # `gone` says how each lost reader left. `judged` has the provider's final refusals by key.
        self.gone: dict[int, str] = {}
        self.judged: dict[str, set[str]] = {}
        # `risked` has the keys that an author chose to resend. `reported` has the copies that the
        # provider reported.
        self.risked: set[str] = set()
        self.reported: set[str] = set()
        self._publish(readers, batch, hold_s)

    @precondition(lambda self: len(self.editions) < MOST_EDITIONS)
    @rule(
        new_readers=st.integers(0, 2), batch=st.integers(1, 3), hold_s=st.sampled_from([0.0, 600.0])
    )
    def publish_another(self, new_readers: int, batch: int, hold_s: float) -> None:
        self._publish(new_readers, batch, hold_s)

    @precondition(lambda self: len(self.editions) < MOST_EDITIONS)
    @rule(index=an_index, batch=st.integers(1, 3), goes_to=st.sampled_from(["everyone", "reached"]))
    def correct(self, index: int, batch: int, goes_to: str) -> None:
        """Publish the next version of an issue, if Homing allows it."""
        issue = self._edition(index).issue_id
        version = 1 + sum(edition.issue_id == issue for edition in self.editions)
        try:
            self._publish(0, batch, 0.0, issue, version, goes_to)
        except VersionRefusedError:
            assert goes_to == "reached"

    def _publish(
        self,
        new_readers: int,
        batch: int,
        hold_s: float,
        issue: uuid.UUID | None = None,
        version: int | None = None,
        goes_to: str = "everyone",
    ) -> None:
        self.newsroom.confirm(new_readers, start=Subscriber.objects.count())
        content = Content.from_input(title="Swifts", html="<p>Dear {{ name|reader }}</p>")
        author, key = self.newsroom.author.pk, uuid.uuid4().hex
        again = {"issue": issue, "version": version, "goes_to": goes_to}
        with override_settings(DELIVERY_BATCH_SIZE=batch):
            edition = publish(author, key, content, hold_s=hold_s, **again).edition
        self.editions.append(edition)
        self.held_until_s[f"{edition.issue_id.hex}.{edition.version}"] = self.passed_s + hold_s

    @rule(index=an_index, leaves=st.booleans())
    def lose_a_reader(self, index: int, leaves: bool) -> None:
        """Let a reader unsubscribe, or suppress their address."""
        readers = list(Subscriber.objects.order_by("pk"))
        reader = readers[index % len(readers)]
        if reader.pk in self.gone:
            return
        self.gone[reader.pk] = "left" if leaves else "suppressed"
        if leaves:
            Subscriber.objects.filter(pk=reader.pk).update(
                state=Subscriber.State.UNSUBSCRIBED, unsubscribed_at=Now()
            )
        else:
            Suppression.objects.create(
                address_key=reader.email_key,
                reason=Suppression.Reason.MANUAL,
                origin=Suppression.Origin.OPERATOR,
            )

    @rule(worker=st.integers(0, WORKERS - 1), fault=a_fault)
    def work(self, worker: int, fault: str) -> None:
        """Let a worker do its next look-up or call. A call may fail."""
        self._next_thing(worker, fault, None)

    @rule(worker=st.integers(0, WORKERS - 1), fault=a_fault, at=st.sampled_from(list(LossPoint)))
    def lose_a_worker(self, worker: int, fault: str, at: LossPoint) -> None:
        self._next_thing(worker, fault, at)

    def _next_thing(self, worker: int, fault: str, lost_at: LossPoint | None) -> None:
        """Wait until work is due, because a fault without a call tests nothing."""
        for wait_s in (0.0, 35.0, 90.0, 300.0):
            self._pass(wait_s)
            if self.workers[worker].step(fault, lost_at):
                return

    @rule(seconds=st.sampled_from([1.0, 20.0, 90.0, 240.0, 700.0, 2000.0, 4 * HOUR_S]))
    def let_time_pass(self, seconds: float) -> None:
        self._pass(seconds)
        self.newsroom.recover_expired_leases()

    def _pass(self, seconds: float) -> None:
        self.newsroom.let_time_pass(seconds)
        self.passed_s += seconds
        for stored in self.sandbox.outbox.requests[::-1]:
            stored.at_ns -= int(seconds * 1e9)

    @rule(hours=st.sampled_from([-1, 1]))
    def set_the_clock(self, hours: int) -> None:
        """Move only the database's clock.

        End all faults first. Otherwise a lagging search could hide a copy for too long.
        """
        self.sandbox.faults.clear()
        self.newsroom.let_time_pass(hours * HOUR_S)
        self.clock_was_set = True

    @rule(fault=st.sampled_from(["none", *SEARCH_IS_DOWN, *SEARCH_LAGS_S]))
    def trouble_the_search(self, fault: str | int) -> None:
        """Make the provider's search lag, fail or recover."""
        self.sandbox.faults.clear()
        if fault in SEARCH_IS_DOWN:
            kind, how = SEARCH_IS_DOWN[str(fault)]
            self.sandbox.set_fault(kind, **how)
        elif fault != "none" and not self.clock_was_set:
            self.sandbox.set_fault("search_delay", seconds=fault)

    @precondition(lambda self: self.sandbox.outbox.copies(bool))
    @rule(index=st.integers(0, 20), day=st.integers(1, 2), at_once=st.booleans())
    def report_a_copy(self, index: int, day: int, at_once: bool) -> None:
        """Let a webhook report the delivery of a copy; the reported date varies.

        The rule can run soon or long after the copy was sent, and several times for one copy. If
        `at_once` is false, the event is stored but not yet applied.
        """
        keys = list(self.sandbox.outbox.copies(bool))
        message = self._messages(keys[index % len(keys)])[0]
        reader = Subscriber.objects.get(pk=message.metadata["delivery"].rpartition(".")[2])
        event = event_inbox.store(
            orjson.dumps(
                {
                    "RecordType": "Delivery",
                    "MessageID": message.id,
                    "Recipient": reader.email,
                    "DeliveredAt": f"2026-03-{day:02}T07:00:00Z",
                    "Metadata": message.metadata,
                }
            )
        )
        if event is not None and at_once:
            event_inbox.apply(event)
            self.reported.add(message.metadata["delivery"])

    @rule()
    def apply_stored_events(self) -> None:
        event_inbox.apply_pending()

    @rule(index=an_index, decision=st.sampled_from([*DECIDED, *DECISIONS]))
    def decide(self, index: int, decision: str) -> None:
        """Apply an author's decision to an edition, if its state allows it."""
        edition = self._edition(index)
        name = f"{edition.issue_id.hex}.{edition.version}"
        unconfirmed = {row.key for row in rows() if row.outcome == "unknown" and not row.bears}
        if DECISIONS[decision](edition.pk) and decision == "resend unknown":
            waiting = {row.key for row in rows() if row.outcome == "waiting"}
            self.risked |= {key for key in unconfirmed & waiting if key.startswith(name)}
        if decision == "send now":
            self.held_until_s[name] = 0.0

    def forbids(self, keys: Collection[str]) -> str:
        """Return why a call with these copies must not begin, or an empty string."""
        edition = next(iter(keys)).rpartition(".")[0]
        issue, _, version = edition.partition(".")
        state = Edition.objects.get(issue_id=uuid.UUID(hex=issue), version=version).control
        if state != "running":
            return f"the edition is {state}: {keys}"
        # Allow 60 seconds for the real time that passes during the test.
        if self.passed_s + 60 < self.held_until_s[edition] and not self.clock_was_set:
            return f"the hold has not ended: {keys}"
        for key in keys:
            if int(key.rpartition(".")[2]) in self.gone:
                return f"the reader is gone: {key}"
            if key in self.reported:
                return f"the provider has reported a copy: {key}"
            if self._messages(key) and key not in self.risked:
                return f"the provider has a copy: {key}"
        return ""

    @invariant()
    def holds(self) -> None:
        """Check that the counts balance, and that the rows match the provider."""
        ids = [edition.pk for edition in self.editions]
        wrong = [
            sentence
            for one, sentence in find_violations(ids)
            if one != AuditRule.ACCEPTED_ONCE or not self.risked
        ]
        assert not wrong
        assert all(counts.balanced for counts in load_all_counts(ids))
        for row in rows():
            copies = {message.id for message in self._messages(row.key)}
            assert len(copies) <= 1 or row.key in self.risked, row
            is_open = row.outcome == "unknown" or row.batch_state in {"sending", "looking_up"}
            if row.outcome == "sent":
                assert row.bears in copies, row
            elif not is_open and row.key not in self.risked:
                # If a queued copy has evidence, a worker finds the evidence before it would send
                # the copy again.
                unexplained = copies - set(row.evidence) if row.outcome == "waiting" else copies
                assert not unexplained, row

    def teardown(self) -> None:
        """End all faults, decide what is open, and account for every copy."""
        if not hasattr(self, "workers"):
            return
        self.sandbox.faults.clear()
        event_inbox.apply_pending()
        self._settle_all()
        for decide in (ask_again, edition_control.resend_unknown, DECISIONS["send to missed"]):
            for edition in self.editions:
                if decide is edition_control.resend_unknown:
                    self.risked |= {row.key for row in rows() if row.outcome == "unknown"}
                decide(edition.pk)
            self._settle_all()
        for row in rows():
            assert self._is_explained(row), row

    def _settle_all(self) -> None:
        for turn in range(MOST_TURNS):
            for edition in self.editions:
                edition_control.resume(edition.pk)
            self.newsroom.recover_expired_leases()
            for worker in self.workers:
                while worker.step():
                    self.holds()
            with connection.cursor() as cursor:
                cursor.execute("SELECT state FROM batch WHERE state NOT IN ('done', 'parked')")
                if not (still_open := cursor.fetchall()):
                    return
            self._pass(400.0 if turn < 20 else HOUR_S)
        raise AssertionError(f"these batches never finish: {still_open}")

    def _is_explained(self, row: Row) -> bool:
        reader = int(row.key.rpartition(".")[2])
        how = self.gone.get(reader, "")
        judged = {
            one
            for key, found in self.judged.items()
            for one in found
            if key == row.key or (key.endswith(f".{reader}") and row.outcome == "suppressed")
        }
        match row.outcome:
            case "sent":
                return True
            case "withdrawn":
                return how == "left" or row.control == "cancelled"
            case "suppressed":
                return how == "suppressed" or bool(judged)
            case "failed":
                return row.missed or "Failed" in judged
            case _:  # An ended edition keeps its unconfirmed copies.
                return row.outcome == "unknown" and row.control in {"closed", "cancelled"}

    def _messages(self, key: str) -> list:
        outbox = self.sandbox.outbox
        return [outbox.message(one) for one in sorted(outbox.with_metadata("delivery", key))]

    def _edition(self, index: int) -> Edition:
        return self.editions[index % len(self.editions)]


@pytest.mark.timeout(300 + 20 * HISTORIES)
def test_every_reader_gets_one_copy_and_the_counts_balance(transactional_db: None) -> None:
    # Draw the same histories in every run, unless HOMING_HISTORIES asks for more.
    how = settings(
        max_examples=HISTORIES or 10,
        stateful_step_count=60 if HISTORIES else 30,
        derandomize=not HISTORIES,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    timing = override_settings(DELIVERY_HTTP_DEADLINE_S=DEADLINE_S, DELIVERY_LEASE_S=LEASE_S)
    with timing, SandboxServer() as provider:
        machine = type("Histories", (Histories,), {"provider": provider})
        run_state_machine_as_test(machine, settings=how)
