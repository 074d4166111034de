"""The small model keeps its promises, and the real queue matches it.

After every step of a random walk, the batch in a real database equals the batch of the model.
"""

import os
import random
import uuid
from datetime import UTC, datetime
from functools import partial

import pytest
from django.db import connection

from delivery.models import Delivery
from delivery.queue.claim_due_batch import Claim, claim, claim_lookup, release
from delivery.queue.edition_control import cancel, pause, resume
from delivery.queue.lease_reaper import recover_dead_worker, recover_expired_leases
from delivery.queue.settle_batch import attempt_result, settle_call, settle_lookup
from delivery.queue.start_call import start
from delivery.rules import after_call_or_lookup, call_results, outcomes
from delivery.unknown.look_up_unknown import load_lookup_context
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.small_model.explorer import Exploration, Machine, explore
from tests.small_model.model_promises import NO_SECOND_COPY, PROMISES, Promise, broken_by
from tests.small_model.protocol import (
    PASSES,
    first_state,
    has_ended,
    is_prompt,
    same_but_for_names,
    transitions,
)
from tests.small_model.state import Batch, Lost, State, Step
from tests.small_model.worlds import LARGER_WORLDS, SENDS_TWICE, SMALL_WORLDS, WORLDS, Variant

TICK_S = 100.0
VARIANT = Variant(people=True)
POLICY = after_call_or_lookup.Policy(
    retry_base_s=TICK_S * VARIANT.pause,
    retry_cap_s=TICK_S * VARIANT.pause,
    max_tries=VARIANT.max_tries,
    lookup_after_s=tuple(TICK_S * after for after in VARIANT.schedule),
    resend_when_absent=True,
)
WALKS, STEPS = 25, 40
QUICKLY_BROKEN = ("no quiet period", "a failed look-up taken for “not there”")


# `make proofs PROOFS=model` explores larger worlds, and also tests the model without each rule of
# look-ups.
IS_WHOLE = os.environ.get("HOMING_MODEL") == "whole"
EXPLORED = WORLDS | LARGER_WORLDS if IS_WHOLE else SMALL_WORLDS
BROKEN = [name for name in SENDS_TWICE if IS_WHOLE or name in QUICKLY_BROKEN]


def explored(variant: Variant, promises: dict[str, Promise]) -> Exploration[State]:
    """Visit every state of a variant."""
    return explore(
        Machine(
            first=first_state(variant),
            transitions=partial(transitions, variant=variant),
            promise=partial(broken_by, promises=promises),
            key=same_but_for_names,
            prompt=is_prompt,
            last=PASSES,
            end=has_ended,
        )
    )


@pytest.mark.timeout(900)
@pytest.mark.parametrize("world", EXPLORED)
def test_protocol_keeps_every_promise_from_every_state(world: str) -> None:
    found = explored(EXPLORED[world], PROMISES)

    assert (found.broken, found.way) == ("", ())
    assert found.states > 3_000


@pytest.mark.timeout(900)
@pytest.mark.parametrize("rule", BROKEN)
def test_model_without_a_rule_of_look_ups_sends_twice(rule: str) -> None:
    found = explored(SENDS_TWICE[rule], {NO_SECOND_COPY: PROMISES[NO_SECOND_COPY]})

    print(*(step for step, _ in found.way), sep="\n")
    assert found.broken == NO_SECOND_COPY


@pytest.fixture
def newsroom(transactional_db: None) -> Newsroom:
    newsroom = Newsroom()
    newsroom.confirm(1)
    return newsroom


def test_real_queue_does_what_the_model_does(newsroom: Newsroom) -> None:
    walked: set[str] = set()
    for seed in range(WALKS):
        dice = random.Random(seed)
        state, real = first_state(VARIANT), RealQueue(newsroom)
        way: list[str] = []
        for _ in range(STEPS):
            following = list(_that_can_be_done(state))
            if not following:
                break
            step, after = dice.choices(following, [_weight(step) for step, _ in following])[0]
            way.append(str(step))
            walked.add(bare(step.what))
            real.do(step, state)
            state = after
            assert real.stored() == _as_stored(state.batch), f"walk {seed}: {'; '.join(way)}"
        real.put_away()
    settled = {"settles the call", "settles the look-up", "brings the batch back"}
    assert settled | {"sees a dead worker"} <= walked


def bare(what: str) -> str:
    """Return the name of a step without the details in brackets."""
    return what.partition(" (")[0]


def _that_can_be_done(state: State) -> list[tuple[Step, State]]:
    """Merge a reaper's two steps, because the real code takes both at once."""
    following = list(transitions(state, VARIANT))
    if state.sweeps != (Lost(),):
        return [(step, after) for step, after in following if step.who == "The sweep"]
    return following


def _weight(step: Step) -> float:
    """Make interruptions rarer than work, so that random walks make progress."""
    if step.what in ("pauses", "cancels", "crashes", "gives the batch back"):
        return 0.1
    return 0.5 if step == PASSES else 1.0


def _as_stored(batch: Batch) -> tuple[object, ...]:
    # The real queue does not count the try in which a copy finally fails.
    tries = 0 if batch.outcome == "failed" else batch.tries
    return batch.state, batch.outcome, tries, batch.crashes, batch.lookups, batch.evidence


class RealQueue:
    """One edition for one reader. The steps of the model's workers run the real code."""

    def __init__(self, newsroom: Newsroom) -> None:
        self.newsroom = newsroom
        self.edition = newsroom.publish()
        self.workers = {name: uuid.uuid4() for name in "AB"}
        self.claims: dict[str, Claim] = {}
        self.attempts: dict[str, uuid.UUID] = {}

    def stored(self) -> tuple[object, ...]:
        """Return the model's batch and delivery as the database stores them."""
        batch = self.newsroom.batch(self.edition)
        (outcome,) = self.newsroom.outcomes(self.edition)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT EXISTS (SELECT FROM evidence WHERE issue_id = %s)", [self.edition.issue_id]
            )
            (evidence,) = cursor.fetchone()
        tries = 0 if outcome == "failed" else batch.tries
        return batch.state, outcome, tries, batch.crashes, batch.lookups, evidence

    def put_away(self) -> None:
        """Remove the edition from the queue, so that the next walk begins with none."""
        cancel(self.edition.pk)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE batch SET due_at = 'infinity', "
                "lease_until = lease_until + interval '1 year' "
                "WHERE edition_id = %s AND state <> 'done'",
                [self.edition.pk],
            )

    def do(self, step: Step, before: State) -> None:
        """Do a step of the model with the real code. Skip steps that need no real code."""
        who = step.who
        worker = before.workers["AB".index(who)] if who in self.workers else None
        match bare(step.what):
            case "passes":
                self.newsroom.let_time_pass(TICK_S)
            case "claims the batch":
                self._takes(who, claim(self.workers[who], lease_s=TICK_S * VARIANT.lease))
            case "claims the look-up":
                held = TICK_S * VARIANT.held_for_look_up
                self._takes(who, claim_lookup(self.workers[who], lease_s=held))
            case "gives the batch back":
                release(self.claims[who])
            case "starts the call":
                assert self._start(who)
            case "may not start: its claim is lost":
                assert not self._start(who)
            case "settles the call":
                assert worker is not None
                self._settle_call(who, worker.answer)
            case "settles the look-up":
                assert worker is not None
                self._settle_look_up(who, worker.answer)
            case "crashes":
                self.workers[who] = uuid.uuid4()
            case "brings the batch back" if before.sweeps[0].dead:
                batch = self.newsroom.batch(self.edition)
                assert batch.owner is not None
                unsent = [batch.attempt] if before.sweeps[0].unsent else []
                assert recover_dead_worker(batch.owner, unsent)
            case "brings the batch back":
                assert recover_expired_leases() == 1
            case "pauses":
                assert pause(self.edition.pk)
            case "resumes":
                assert resume(self.edition.pk)
            case "cancels":
                assert cancel(self.edition.pk) is not None

    def _takes(self, who: str, claimed: Claim | None) -> None:
        assert claimed is not None
        self.claims[who] = claimed

    def _start(self, who: str) -> list[int]:
        self.attempts[who] = uuid.uuid4()
        return start(
            self.claims[who],
            self.attempts[who],
            self.workers[who],
            deadline_s=TICK_S * VARIANT.deadline,
            lease_s=TICK_S * (VARIANT.held_after_start - VARIANT.deadline),
        )

    def _settle_call(self, who: str, what: str) -> None:
        answer: call_results.CallResult
        match what:
            case "accepted":
                message_id = f"id-{self.attempts[who].hex}"
                answer = call_results.Answered([outcomes.Sent(message_id, datetime.now(UTC))])
            case "put off":
                answer = call_results.Deferred(because("Too many calls."))
            case "not sent":
                answer = call_results.NotSent(because("No time was left."))
            case _:
                answer = call_results.Unanswered(because("Cut off."))
        claimed = self.claims[who]
        recipient = Delivery.objects.get(issue=self.edition.issue_id).recipient_id
        settlement = after_call_or_lookup.after_call(
            answer,
            [recipient],
            claimed.history,
            jitter=1.0,
            policy=POLICY,
        )
        settle_call(claimed, self.attempts[who], settlement, attempt_result(answer))

    def _settle_look_up(self, who: str, what: str) -> None:
        claimed = self.claims[who]
        context = load_lookup_context(claimed, remembers_days=45)
        answer: call_results.LookupResult
        match what:
            case "found":
                assert claimed.attempt is not None
                message_id = f"id-{claimed.attempt.hex}"
                answer = call_results.SearchAnswered(
                    [
                        call_results.FoundMessage(key, message_id, datetime.now(UTC))
                        for key in context.unknown
                    ]
                )
            case "absent":
                answer = call_results.SearchAnswered([])
            case _:
                answer = call_results.SearchFailed(because("The search is down."))
        settlement = after_call_or_lookup.after_lookup(
            answer,
            context.unknown,
            claimed.history,
            later_mail=call_results.LaterMail.SHOWN,
            elapsed_s=context.elapsed_s,
            jitter=1.0,
            policy=POLICY,
        )
        settle_lookup(claimed, settlement)
