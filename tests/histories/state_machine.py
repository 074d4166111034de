"""Random histories of publishing and delivery, compared with a model.

Hypothesis chooses the steps. After each step all invariants are checked. At the end of each history
everything must be settled, with one copy for every reader.
"""

import functools
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from typing import ClassVar

import orjson
from django.db import connection
from django.db.models.functions import Now
from django.test import override_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from delivery.feedback import event_inbox
from delivery.feedback.delivery_events import delivery
from delivery.models import Alarm, Edition
from delivery.queue import control
from delivery.reports.audit import AuditRule, find_violations
from delivery.reports.load_edition_counts import load_all_counts
from delivery.reports.waiting_sentence import waiting_sentence
from delivery.rules import delivery_key
from delivery.rules.edition_state import EditionState, state_of
from publishing.content.edition_content import Content
from publishing.editions.versions import VersionRefusedError
from publishing.publish.publish import publish
from subscribers.models import Subscriber, Suppression
from tests.histories.faults import HELD, OF_A_CALL, OF_THE_SEARCH, FreezePoint
from tests.histories.history_environment import (
    LOOKUP_AFTER_S,
    WORKERS,
    Stage,
    results_of_attempts,
    rows,
)
from tests.histories.reference_model import Copy, Row, WrongError, settled_calls
from tests.histories.worker_thread import Hand

MOST_EDITIONS = 3
MOST_READERS = 9
MOST_TURNS = 80
HOUR_S = 3600.0

a_worker = st.integers(0, WORKERS - 2)
# Half of the faults leave the provider's state unconfirmed, so duplicates could appear.
a_fault = st.one_of(
    st.sampled_from([HELD, HELD, "accepted, then closed", "the first accepted, then closed"]),
    st.sampled_from([fault for fault in OF_A_CALL if fault != "none"]),
)
a_moment = st.sampled_from(list(FreezePoint))
some_time_s = st.sampled_from([1.0, 20.0, 90.0, 240.0, 700.0, 2000.0, 4 * HOUR_S])
an_index = st.integers(0, 5)

A_LITTLE_S = (35.0, 90.0, 300.0)

# The list has more steps that continue a history than steps that end it.
PEOPLE_DO = (
    *["resume"] * 4,
    *["pause", "ask again", "resend unconfirmed", "send to missed"] * 2,
    *["send now", "call back", "cancel", "close"],
)
# As on the desk, only the last look-up of the schedule is repeated.
ask_again = functools.partial(control.ask_again, silences=len(LOOKUP_AFTER_S) - 1)
ACTIONS: Mapping[str, Callable[[int], int | None]] = {
    "resume": control.resume,
    "pause": control.pause,
    "send now": control.send_now,
    "call back": control.call_back,
    "cancel": control.cancel,
    "close": control.close,
    "ask again": ask_again,
    "send to missed": functools.partial(control.send_to_missed, batch_size=2),
}


class Histories(RuleBasedStateMachine):
    """Possible steps, and invariants. The caller sets `stage`."""

    stage: ClassVar[Stage]
    seen: ClassVar[Counter[str]] = Counter()

    @initialize(
        readers=st.integers(2, 6),
        batch=st.integers(1, 3),
        hold_s=st.sampled_from([0.0, 0.0, 600.0]),
        resends=st.sampled_from([True, True, False]),
    )
    def begin(self, readers: int, batch: int, hold_s: float, resends: bool) -> None:
        """Publish the first edition, from an empty database to an empty provider."""
        self.truth = self.stage.begin(resend_when_absent=resends)
        self.resends = resends
        self.editions: list[Edition] = []
        self.alarms = 0
        self._publish(readers, batch, hold_s)

    @precondition(lambda self: len(self.editions) < MOST_EDITIONS)
    @rule(
        new_readers=st.integers(0, 2), batch=st.integers(1, 3), hold_s=st.sampled_from([0.0, 600.0])
    )
    def publish(self, new_readers: int, batch: int, hold_s: float) -> None:
        self._publish(new_readers, batch, hold_s)

    @precondition(lambda self: len(self.editions) < MOST_EDITIONS)
    @rule(index=an_index, batch=st.integers(1, 3), goes_to=st.sampled_from(["everyone", "reached"]))
    def correct(self, index: int, batch: int, goes_to: str) -> None:
        """Publish the next version of an issue, if allowed."""
        issue = self._edition(index).issue_id
        version = 1 + sum(edition.issue_id == issue for edition in self.editions)
        try:
            self._publish(0, batch, 0.0, issue=issue, version=version, goes_to=goes_to)
        except VersionRefusedError:
            assert goes_to == "reached"

    def _publish(
        self,
        new_readers: int,
        batch: int,
        hold_s: float,
        *,
        issue: uuid.UUID | None = None,
        version: int | None = None,
        goes_to: str = "everyone",
    ) -> None:
        self._confirm(new_readers)
        content = Content.from_input(title="Swifts", html="<p>Dear {{ name|reader }}</p>")
        with override_settings(DELIVERY_BATCH_SIZE=batch):
            edition = publish(
                self.stage.newsroom.author.pk,
                uuid.uuid4().hex,
                content,
                hold_s=hold_s,
                issue=issue,
                version=version,
                goes_to=goes_to,
            ).edition
        self.editions.append(edition)
        self.truth.held_until[self._name(edition)] = self.truth.clock.now() + hold_s

    def _confirm(self, count: int) -> None:
        start = Subscriber.objects.count()
        self.stage.newsroom.confirm(min(count, MOST_READERS - start), start=start)

    @rule(index=st.integers(0, MOST_READERS - 1), leaves=st.booleans())
    def lose_a_reader(self, index: int, leaves: bool) -> None:
        reader = self._reader(index)
        how = self.truth.gone.setdefault(reader.pk, set())
        if leaves and "left" not in how:
            Subscriber.objects.filter(pk=reader.pk).update(
                state=Subscriber.State.UNSUBSCRIBED, unsubscribed_at=Now()
            )
            how.add("left")
        elif not how:
            Suppression.objects.create(
                address_key=reader.email_key,
                reason=Suppression.Reason.MANUAL,
                origin=Suppression.Origin.OPERATOR,
            )
            how.add("suppressed")

    @rule(worker=a_worker, stops=st.sampled_from([False, False, False, True]))
    def work(self, worker: int, stops: bool) -> None:
        hand = self._idle(worker)
        if hand is not None:
            hand.step(stops_gently=stops)

    @rule(worker=a_worker, fault=a_fault)
    def work_under_a_fault(self, worker: int, fault: str) -> None:
        """Let a worker do the next thing; if that is a call, it fails."""
        self._next_thing(worker, fault, None)

    @rule(worker=a_worker, moment=a_moment, fault=st.one_of(st.just("none"), a_fault))
    def freeze(self, worker: int, moment: FreezePoint, fault: str) -> None:
        self._next_thing(worker, fault, moment)

    def _next_thing(self, worker: int, fault: str, freeze_at: FreezePoint | None) -> None:
        """Wait briefly for due work: a fault without a call tests nothing."""
        hand = self._idle(worker)
        for wait_s in (0.0, *A_LITTLE_S) if hand is not None else ():
            if wait_s:
                self.stage.let_time_pass(self.truth, wait_s)
            if hand.step(fault, freeze_at=freeze_at):
                break
        if hand is not None and hand.frozen:
            self.truth.seen[f"frozen {hand.frozen.value}"] += 1

    @precondition(lambda self: self._frozen())
    @rule(
        index=an_index,
        fault=st.one_of(st.just("none"), a_fault),
        moment=st.one_of(st.none(), a_moment),
    )
    def wake(self, index: int, fault: str, moment: FreezePoint | None) -> None:
        """Resume a frozen worker without notice; it may freeze again."""
        frozen = self._frozen()
        frozen[index % len(frozen)].wake(fault, freeze_at=moment)

    @precondition(lambda self: self._frozen())
    @rule(index=an_index)
    def lose(self, index: int) -> None:
        frozen = self._frozen()
        frozen[index % len(frozen)].lose()
        self.truth.seen["lost for good"] += 1

    @rule(
        worker=a_worker,
        further=st.integers(1, WORKERS - 2),
        moment=a_moment,
        rival_at=a_moment,
        fault=st.one_of(st.just("none"), a_fault),
    )
    def overtake(
        self, worker: int, further: int, moment: FreezePoint, rival_at: FreezePoint, fault: str
    ) -> None:
        """Freeze a worker until another has claimed its batch, then wake it."""
        hand = self._idle(worker)
        rival = self._idle((worker + further) % (WORKERS - 1))
        if hand is None or rival is None:
            return
        self._next_thing(worker, fault, moment)
        for _ in range(5 if hand.frozen else 0):
            self.stage.let_time_pass(self.truth, 400.0)
            self._sweep()
            while not rival.frozen and rival.step(freeze_at=rival_at):
                self._look()
        if hand.frozen and rival.frozen:
            self.truth.seen["overtaken"] += 1
            hand.wake()

    @rule(
        worker=a_worker,
        moment=a_moment,
        fault=st.one_of(st.just("none"), a_fault),
        meanwhile=st.sampled_from(["pause", "cancel", "minutes pass", "a reader leaves"]),
        index=an_index,
    )
    def meanwhile(
        self, worker: int, moment: FreezePoint, fault: str, meanwhile: str, index: int
    ) -> None:
        """Do something while a worker is frozen, then resume it."""
        hand = self._idle(worker)
        if hand is None:
            return
        self._next_thing(worker, fault, moment)
        if not hand.frozen:
            return
        match meanwhile:
            case "minutes pass":
                self.stage.let_time_pass(self.truth, 100.0)
            case "a reader leaves":
                self.lose_a_reader(index, leaves=True)
            case _:
                self.decide(index, meanwhile)
        self._look()
        hand.wake()

    @rule(worker=a_worker)
    def fall_behind(self, worker: int) -> None:
        """Let the search fall hours behind; then a call is accepted and cut off."""
        self.trouble_the_search("hours late")
        self._next_thing(worker, "accepted, then closed", None)
        self.let_time_pass(35.0)
        for _ in range(3):
            self.a_while_of_work(400.0)

    @rule()
    def sweep(self) -> None:
        self._sweep()

    def _sweep(self) -> None:
        self.truth.came_back += self.stage.newsroom.recover_expired_leases()

    @rule(seconds=some_time_s)
    def let_time_pass(self, seconds: float) -> None:
        self.stage.let_time_pass(self.truth, seconds)

    @rule(seconds=st.sampled_from([90.0, 400.0]))
    def a_while_of_work(self, seconds: float) -> None:
        """Let time pass while the running workers work and reap leases."""
        for _ in range(3):
            self.stage.let_time_pass(self.truth, seconds)
            self._everybody_works()

    @rule(hours=st.sampled_from([-1, 1]))
    def set_the_clock(self, hours: int) -> None:
        """Move only the database's clock an hour forward or back at once."""
        self.stage.newsroom.let_time_pass(hours * HOUR_S)
        self.truth.clock_was_set = True
        if hours > 0:
            self.truth.set_forward_at = self.truth.clock.now()

    @rule(fault=st.sampled_from(["none", "none", "hours late", "hours late", *OF_THE_SEARCH]))
    def trouble_the_search(self, fault: str) -> None:
        """Make the provider's search lag, fail or recover."""
        self.truth.sandbox.faults.clear()
        if fault != "none":
            kind, settings = OF_THE_SEARCH[fault]
            self.truth.sandbox.set_fault(kind, **settings)

    @precondition(lambda self: self.truth.sandbox.gate.held)
    @rule(outcome=st.sampled_from(["answer", "answer", "close"]))
    def let_held_calls_arrive(self, outcome: str) -> None:
        """Accept the held calls long after their callers gave up, or lose them."""
        self.truth.seen[f"held calls: {outcome}"] += self.stage.let_held_calls_arrive(outcome)

    @precondition(lambda self: self.truth.sandbox.outbox.copies(bool))
    @rule(index=st.integers(0, 20), day=st.integers(1, 2), at_once=st.booleans())
    def report_copy(self, index: int, day: int, at_once: bool) -> None:
        """Let a webhook report a copy: early, late, repeated, or with another day."""
        copy = self._any_copy(index)
        event = event_inbox.store(
            orjson.dumps(
                {
                    "RecordType": "Delivery",
                    "MessageID": copy.id,
                    "Recipient": self._address_of(copy),
                    "DeliveredAt": f"2026-03-{day:02}T07:00:00Z",
                    "Metadata": {"delivery": copy.key, "attempt": copy.attempt},
                }
            )
        )
        if event is None:
            self.truth.seen["reported again"] += 1
        elif at_once:
            event_inbox.apply(event)
            self._is_known(copy)

    @rule()
    def apply_stored_events(self) -> None:
        """Apply stored events that were not applied at once, as every worker does."""
        self.truth.seen["reported, applied later"] += event_inbox.apply_pending()

    @staticmethod
    def _address_of(copy: Copy) -> str:
        key = delivery_key.read(copy.key)
        assert key is not None
        return delivery(key).get().address

    def _any_copy(self, index: int) -> Copy:
        keys = list(self.truth.sandbox.outbox.copies(bool))
        key = keys[index % len(keys)]
        copies = self.truth.copies(key)
        return copies[index % len(copies)]

    def _is_known(self, copy: Copy) -> None:
        """Check that a reported copy is recorded and never resent automatically."""
        self.truth.seen["reported"] += 1
        self.truth.reported.add(copy.id)
        (row,) = (row for row in rows() if row.key == copy.key)
        assert copy.id == row.bears or copy.id in row.evidence, row

    @rule(index=an_index, action=st.sampled_from(PEOPLE_DO))
    def decide(self, index: int, action: str) -> None:
        """Apply an author's decision to an edition, if its state allows it."""
        edition = self._edition(index)
        if action == "resend unconfirmed":
            self._send_doubtful(edition)
            return
        if self._note(action, ACTIONS[action](edition.pk)):
            self._holds_after(action, edition)

    def _holds_after(self, action: str, edition: Edition) -> None:
        match action:
            case "send now":
                self.truth.held_until.pop(self._name(edition), None)
            case "call back":
                assert not any(call.edition == self._name(edition) for call in self.truth.calls)
            case "close":
                waiting = {row.edition for row in rows() if row.outcome == "waiting"}
                assert edition.pk not in waiting

    def _send_doubtful(self, edition: Edition) -> None:
        unconfirmed = [
            row
            for row in rows()
            if row.edition == edition.pk and row.outcome == "unknown" and row.bears is None
        ]
        if self._note("resend unconfirmed", control.resend_unknown(edition.pk)):
            waiting = {row.key for row in rows() if row.outcome == "waiting"}
            self.truth.risked |= {row.key for row in unconfirmed} & waiting

    def _note(self, what: str, done: int | None) -> bool:
        """Note the action; None and False mean that it was not done."""
        was_done = done is not None and done is not False
        if was_done:
            self.truth.seen[what] += 1
        return was_done

    @invariant()
    def holds(self) -> None:
        """Check that the counts balance and match the provider."""
        if hasattr(self, "truth"):
            self._look()

    def _look(self) -> list[Row]:
        settled_calls(self.truth.calls, results_of_attempts())
        ids = [edition.pk for edition in self.editions]
        alarmed = self._alarmed()
        wrong = [
            sentence
            for rule, sentence in find_violations(ids)
            if rule != AuditRule.ACCEPTED_ONCE or not alarmed
        ]
        if wrong:
            raise WrongError("; ".join(wrong))
        for counts in load_all_counts(ids):
            assert counts.balanced, counts
        deliveries = rows()
        for row in deliveries:
            self.truth.hold_against(row)
            known = {*row.evidence, *([row.bears] if row.bears else [])}
            if len(known) > 1 and row.edition not in alarmed:
                raise WrongError(f"{row.key} has two ids and no alarm was raised: {known}")
        self._look_at_new_alarms(alarmed)
        return deliveries

    def _alarmed(self) -> set[int]:
        return set(
            Alarm.objects.filter(kind=Alarm.Kind.ACCEPTED_TWICE).values_list(
                "edition_id", flat=True
            )
        )

    def _look_at_new_alarms(self, alarmed: set[int]) -> None:
        """Check that an edition stops when two copies of a delivery are seen."""
        count = Alarm.objects.count()
        if count > self.alarms:
            self.truth.seen["alarms"] += count - self.alarms
            newest = Alarm.objects.order_by("-pk")[: count - self.alarms]
            for alarm in newest:
                if alarm.edition.control in {"running", "paused"}:
                    raise WrongError(f"An edition continues after {alarm}")
        self.alarms = count

    def teardown(self) -> None:
        """End all faults, resume everything, and check that all batches are settled."""
        if not hasattr(self, "truth"):
            return
        try:
            self.truth.sandbox.faults.clear()
            event_inbox.apply_pending()
            self._settle_all_batches()
            # Workers frozen until now wake up, and the network releases held calls.
            for hand in self._frozen():
                hand.wake()
                self._look()
            self.stage.let_held_calls_arrive()
            self._settle_all_batches()
            self._make_decisions()
            self._settle_all_batches()
            self._check_settled()
        finally:
            self.truth.seen["batches that came back from a lost worker"] += self.truth.came_back
            type(self).seen.update(self.truth.seen)
            self.stage.let_held_calls_arrive("close")

    def _settle_all_batches(self) -> None:
        for turn in range(MOST_TURNS):
            # Look at an alarm before the edition that it stopped is resumed.
            self._look()
            for edition in self.editions:
                control.resume(edition.pk)
            self._everybody_works()
            with connection.cursor() as cursor:
                cursor.execute("SELECT state FROM batch WHERE state NOT IN ('done', 'parked')")
                open_batches = [row[0] for row in cursor.fetchall()]
            if not open_batches:
                return
            self.stage.let_time_pass(self.truth, 400.0 if turn < 20 else HOUR_S)
        raise WrongError(f"These batches never finish: {open_batches}")

    def _make_decisions(self) -> None:
        for edition in self.editions:
            ask_again(edition.pk)
        self._settle_all_batches()
        for edition in self.editions:
            self._send_doubtful(edition)
            control.send_to_missed(edition.pk, batch_size=2)

    def _everybody_works(self) -> None:
        self._sweep()
        for hand in self.stage.hands:
            for _ in range(200):
                if hand.frozen or not hand.step():
                    break
                self._look()
            else:
                raise WrongError("A worker always finds something due")

    def _check_settled(self) -> None:
        for row in self._look():
            self._is_accounted_for(row)
        by_edition = Counter((row.edition, row.outcome, row.missed) for row in self._look())
        for counts in load_all_counts([edition.pk for edition in self.editions]):
            state = state_of(counts)
            open_ends = [
                key
                for key in by_edition
                if key[0] == counts.edition and (key[1] == "unknown" or key[2])
            ]
            if state is EditionState.SUCCEEDED:
                assert not open_ends, open_ends
            elif state is EditionState.NEEDS_ATTENTION:
                assert open_ends
                assert waiting_sentence(counts)
            else:
                assert state.value == counts.control, (state, counts)
                assert counts.control in {"cancelled", "closed"}
            self.truth.seen[f"ended {state.value}"] += 1

    def _is_accounted_for(self, row: Row) -> None:
        copies = len(self.truth.copies(row.key))
        if row.outcome == "sent":
            self.truth.seen["copies"] += 1
            self.truth.seen["second copies, explained"] += copies - 1
            return
        if row.outcome == "unknown":
            # A closed edition keeps its unconfirmed copies, and so does a cancelled one.
            assert row.control in {"closed", "cancelled"}, row
            return
        if not self.truth.explains(row.key, row.outcome, missed=row.missed, control=row.control):
            raise WrongError(f"Nothing explains {row}")
        self.truth.seen[f"ended {row.outcome}"] += 1

    def _idle(self, worker: int) -> Hand | None:
        hand = self.stage.hands[worker]
        return None if hand.frozen else hand

    def _frozen(self) -> list[Hand]:
        return [hand for hand in self.stage.hands if hand.frozen]

    def _edition(self, index: int) -> Edition:
        return self.editions[index % len(self.editions)]

    def _reader(self, index: int) -> Subscriber:
        readers = list(Subscriber.objects.order_by("pk"))
        return readers[index % len(readers)]

    @staticmethod
    def _name(edition: Edition) -> str:
        return f"{edition.issue_id.hex}.{edition.version}"
