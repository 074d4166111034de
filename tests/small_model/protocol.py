"""The delivery protocol as a small machine: states and possible next steps.

The machine has one batch with one delivery, some workers, the lease reaper, a provider and a clock.
`model_worker.py` and `model_environment.py` hold the steps; `test_small_model.py` runs each step
with the real code.
"""

from collections.abc import Hashable

from tests.small_model.model_environment import person_steps, provider_steps, sweep_steps, tick
from tests.small_model.model_worker import Steps, worker_steps
from tests.small_model.state import (
    UNDER_A_LEASE,
    Batch,
    Claim,
    Lost,
    State,
    Step,
    Worker,
    call_of,
    may_have,
)
from tests.small_model.worlds import Variant

PASSES = Step("Time", "passes")

# Faults and decisions of people, which may happen but never have to happen.
_FAULTS = (
    "crashes",
    "gives the batch back",
    "puts the call off",
    "gets no answer from the search",
    "pauses",
    "resumes",
    "cancels",
)


def first_state(variant: Variant) -> State:
    """Return the first state: a queued batch and idle workers."""
    return State(Batch(), (Worker(),) * variant.workers, (Lost(),) * variant.sweepers)


def transitions(state: State, variant: Variant) -> Steps:
    for step, after in _all_steps(state, variant):
        yield step, _without_forgotten_calls(after)


def _all_steps(state: State, variant: Variant) -> Steps:
    for index in range(len(state.workers)):
        yield from worker_steps(state, index, variant)
    for index in range(len(state.sweeps)):
        yield from sweep_steps(state, index)
    yield from provider_steps(state, variant)
    if variant.people:
        yield from person_steps(state)
    later = tick(state, variant)
    if later != state:
        yield PASSES, later


def _without_forgotten_calls(state: State) -> State:
    """Drop calls that every process has forgotten and that cannot change later steps."""
    known = {worker.call for worker in state.workers if worker.call}
    known |= {worker.claim.attempt for worker in state.workers} | {state.batch.attempt}
    calls = tuple(call for call in state.calls if call.number in known or may_have(state, call))
    return state if len(calls) == len(state.calls) else state._replace(calls=calls)


def same_but_for_names(state: State) -> Hashable:
    """Return a state without its names. Two results may differ and behave alike.

    Workers are interchangeable, and so are reapers. Calls are renumbered, beginning with the
    recorded one. Only one property of an epoch matters: whether it is the current epoch of the
    batch.
    """
    batch = state.batch
    number = {0: 0, batch.attempt: 1 if batch.attempt else 0}
    for call in sorted(state.calls, key=lambda call: call[2:]):
        number.setdefault(call.number, len(number))
    workers = sorted(
        worker._replace(
            claim=Claim(worker.claim.epoch == batch.epoch, number[worker.claim.attempt]),
            call=number[worker.call],
        )
        for worker in state.workers
    )
    calls = sorted(
        call._replace(number=number[call.number], epoch=call.epoch == batch.epoch)
        for call in state.calls
    )
    sweeps = sorted((lost.state, lost.epoch == batch.epoch, *lost[2:]) for lost in state.sweeps)
    orphaned = batch.orphaned and batch.state in UNDER_A_LEASE
    nameless = batch._replace(epoch=0, attempt=number[batch.attempt], orphaned=orphaned)
    return nameless, tuple(workers), tuple(sweeps), tuple(calls), state.control, state.reported


def has_ended(state: State) -> bool:
    """Return whether no work is open, or the open work waits until an author resumes."""
    return state.batch.state == "done" or (state.batch.state, state.control) == ("paused", "paused")


def is_prompt(step: Step, state: State) -> bool:
    """Return whether a step happens automatically, without crash or interference."""
    if step.what == "gets no answer":
        worker = next(w for name, w in zip("ABC", state.workers, strict=False) if name == step.who)
        call = call_of(state, worker.call)
        return call is not None and call.copy in ("not written", "under way") and call.left <= 0
    return step != PASSES and step.what not in _FAULTS
