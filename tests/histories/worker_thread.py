"""The real worker step in a thread that can be frozen, woken and lost.

Only one thread runs at a time: the caller waits until the worker's thread is frozen, lost or done.
So the same history always takes the same course.
"""

import threading
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from django.db import connection

from delivery.models import Attempt, Edition
from delivery.postmark.check_mail import CHECK_MAIL_ADDRESS
from delivery.postmark.client import Postmark, now_s
from delivery.rules import retry_or_settle
from delivery.rules.call_results import CallResult, LookupResult, SearchAnswered, Unanswered
from delivery.worker.step import Dispatcher
from tests.histories.faults import GIVES_UP_AFTER_S, HELD, OF_A_CALL, FreezePoint
from tests.histories.reference_model import Call, Truth, WrongError

# Never reached: a thread that does not return within this time is a bug of the test.
LONGEST_STEP_S = 60.0
DEADLINE_S = 20.0
LEASE_S = 60.0


def middle_of_the_dice() -> float:
    return 0.5


class LostError(BaseException):
    """The worker was lost here: none of its code runs any more."""


class Hand:
    """One worker of a history. The history's thread calls `step`, `wake` and `lose`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen: FreezePoint | None = None
        self._freeze_at: FreezePoint | None = None
        self._stops_gently = False
        self._is_lost = False
        self._may_move = threading.Semaphore(0)
        self._has_halted = threading.Semaphore(0)
        self._ends = False
        self._moved = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)
        self._thread.start()

    def begin(self, truth: Truth, base_url: str, policy: retry_or_settle.Policy) -> None:
        """Become a new worker, for a new history."""
        self.truth = truth
        self._wire = Wire(self, base_url)
        self._dispatcher = Dispatcher(
            uuid.uuid4(), self._wire, policy=policy, jitter=middle_of_the_dice
        )
        self.next_fault = "none"

    def step(
        self,
        fault: str = "none",
        *,
        freeze_at: FreezePoint | None = None,
        stops_gently: bool = False,
    ) -> bool:
        """Do one due thing, unless it freezes on the way; False if nothing was due."""
        self._stops_gently = stops_gently
        return self._move(fault, freeze_at)

    def wake(self, fault: str = "none", *, freeze_at: FreezePoint | None = None) -> None:
        """Resume where it was frozen, as if no time had passed."""
        self._move(fault, freeze_at)

    def lose(self) -> None:
        """Lose the frozen worker for good; another takes its place."""
        self._is_lost = True
        self._move("none", None)
        self._is_lost = False

    def end(self) -> None:
        """End the thread and close its connection."""
        if self.frozen:
            self.lose()
        self._ends = True
        self._may_move.release()
        self._thread.join(LONGEST_STEP_S)

    def _move(self, fault: str, freeze_at: FreezePoint | None) -> bool:
        self.next_fault, self._freeze_at, self.frozen = fault, freeze_at, None
        self._may_move.release()
        if not self._has_halted.acquire(timeout=LONGEST_STEP_S):
            raise TimeoutError(f"{self.name} does not return")
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._moved

    def _live(self) -> None:
        while True:
            self._may_move.acquire()
            if self._ends:
                connection.close()
                return
            try:
                self._wire.begin()
                self._moved = self._dispatcher.step(self._is_stopping)
            except LostError:
                self._wire.close()
            except BaseException as error:  # noqa: BLE001 -- handed to the history's thread
                self._error = error
            self._has_halted.release()

    def freeze_if_wanted(self, moment: FreezePoint) -> None:
        """Freeze here if the history wants that."""
        if self._freeze_at is not moment:
            return
        self.frozen, self._moved = moment, True
        self._has_halted.release()
        self._may_move.acquire()
        if self._is_lost:
            raise LostError

    def _is_stopping(self) -> bool:
        before_s = self.truth.clock.passed_s
        self.freeze_if_wanted(FreezePoint.CLAIMED)
        self._wire.is_about_to_start(away_s=self.truth.clock.passed_s - before_s)
        return self._stops_gently


class Wire(Postmark):
    """The real client; every call is checked against the model before it is made."""

    def __init__(self, hand: Hand, base_url: str) -> None:
        super().__init__(base_url, "sandbox", deadline_s=DEADLINE_S)
        self._hand = hand
        self._truth = hand.truth
        self.begin()

    def begin(self) -> None:
        """Begin a new step."""
        self._deadline_was_set_at: float | None = None
        self._lease_is_over = False
        self._gone: Collection[int] = ()
        self._controls: Mapping[str, str] = {}

    def is_about_to_start(self, *, away_s: float) -> None:
        """Note the facts that apply to a call which is about to be recorded.

        `away_s`: how long the worker was frozen since its claim.
        """
        self._lease_is_over = away_s > LEASE_S and not self._truth.clock_was_set
        self._deadline_was_set_at = self._truth.clock.passed_s
        self._gone = frozenset(self._truth.gone)
        self._controls = {
            f"{issue.hex}.{version}": control
            for issue, version, control in Edition.objects.values_list(
                "issue_id", "version", "control"
            )
        }

    def send(
        self, body: bytes, addresses: Sequence[str], *, deadline_at_s: float, **more: Any
    ) -> CallResult:
        if addresses == [CHECK_MAIL_ADDRESS]:
            return super().send(body, addresses, deadline_at_s=deadline_at_s, **more)
        call = self._call_of(body)
        if self._lease_is_over:
            raise WrongError(f"A call was recorded after its lease had ended: {call.keys}")
        self._truth.calls.append(call)
        self._hand.freeze_if_wanted(FreezePoint.STARTED)
        fault = self._hand.next_fault
        deadline_at_s = self._moved(deadline_at_s)
        if deadline_at_s <= now_s():
            # The real client must notice on its own that it is too late.
            self._truth.seen["a frozen worker came too late"] += 1
            answer = super().send(body, addresses, deadline_at_s=deadline_at_s, **more)
            if self._truth.sandbox.outbox.with_metadata("attempt", call.attempt):
                raise WrongError(f"A call was made after its deadline: {call.keys}")
        else:
            self._truth.may_go(
                call, gone=self._gone, control=self._controls.get(call.edition, "unknown here")
            )
            answer = self._send_under(fault, body, addresses, deadline_at_s, **more)
        self._truth.answered(call, answer)
        self._hand.freeze_if_wanted(FreezePoint.ANSWERED)
        return answer

    def _call_of(self, body: bytes) -> Call:
        metadata = [item["Metadata"] for item in orjson.loads(body)]
        (attempt,) = {one["attempt"] for one in metadata}
        keys = [one["delivery"] for one in metadata]
        (edition,) = {key.rpartition(".")[0] for key in keys}
        if not Attempt.objects.filter(pk=uuid.UUID(hex=attempt)).exists():
            raise WrongError(f"A call is made without a record: {keys}")
        now = self._truth.clock.now()
        return Call(attempt, edition, keys, began=now, deadline=now + DEADLINE_S)

    def _moved(self, deadline_at_s: float) -> float:
        """Return a deadline on this worker's clock, moved by the time that passed."""
        set_at = self._deadline_was_set_at
        passed = 0.0 if set_at is None else self._truth.clock.passed_s - set_at
        return deadline_at_s - passed

    def _send_under(
        self,
        fault: str,
        body: bytes,
        addresses: Sequence[str],
        deadline_at_s: float,
        **more: Any,
    ) -> CallResult:
        sandbox = self._truth.sandbox
        setting = OF_A_CALL[fault]
        if setting is None:
            return super().send(body, addresses, deadline_at_s=deadline_at_s, **more)
        kind, settings = setting
        rule = sandbox.set_fault(kind, **settings)
        held = sandbox.gate.held
        if fault == HELD or kind == "accept_then_stall":
            deadline_at_s = now_s() + GIVES_UP_AFTER_S
        try:
            answer = super().send(body, addresses, deadline_at_s=deadline_at_s, **more)
            if fault == HELD and isinstance(answer, Unanswered):
                # The provider still reads a request that was written before the caller gave up.
                sandbox.gate.wait_until(lambda: sandbox.gate.held > held, 5)
        finally:
            sandbox.faults.clear(rule.id)
        self._truth.seen[f"call: {fault}"] += 1
        return answer

    def search(
        self, field_name: str, value: str, *, stream: str, deadline_at_s: float
    ) -> LookupResult:
        if self._deadline_was_set_at is None:
            self._deadline_was_set_at = self._truth.clock.passed_s
        self._hand.freeze_if_wanted(FreezePoint.ASKS)
        answer = super().search(
            field_name, value, stream=stream, deadline_at_s=self._moved(deadline_at_s)
        )
        if isinstance(answer, SearchAnswered):
            self._truth.was_asked(value)
        self._hand.freeze_if_wanted(FreezePoint.TOLD)
        return answer
