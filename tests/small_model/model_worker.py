"""Steps of a worker. Between any two steps the worker may crash or be frozen."""

from collections.abc import Iterator

from tests.small_model.state import (
    UNDER_A_LEASE,
    Batch,
    Call,
    Claim,
    State,
    Step,
    Worker,
    call_of,
)
from tests.small_model.worlds import Guard, Variant

Steps = Iterator[tuple[Step, State]]


def worker_steps(state: State, index: int, variant: Variant) -> Steps:
    worker, name = state.workers[index], "ABC"[index]

    def then(what: str, after: Worker, changed: State = state) -> tuple[Step, State]:
        workers = (*changed.workers[:index], after, *changed.workers[index + 1 :])
        return Step(name, what), changed._replace(workers=workers)

    batch = state.batch
    if worker.at != "idle":
        holds = worker.claim.epoch == batch.epoch and batch.state in UNDER_A_LEASE
        orphaned = state._replace(batch=batch._replace(orphaned=batch.orphaned or holds))
        yield then("crashes", Worker(), orphaned)
    match worker.at:
        case "idle":
            if batch.state == "ready" and batch.due == 0:
                held, claim = _claimed(state, "claimed", variant.lease)
                yield then("claims the batch", Worker("claimed", claim), held)
            if batch.state == "unknown" and batch.due == 0:
                time = variant.held_for_look_up
                held, claim = _claimed(state, "looking_up", time)
                looking_up = Worker("looking_up", claim, kept=batch.evidence)
                yield then("claims the look-up", looking_up, held)
        case "claimed":
            yield then("gives the batch back", Worker(), _released(state, worker))
            yield then(*_started(state, worker, variant))
        case "started":
            call = call_of(state, worker.call)
            assert call is not None
            if call.left > 0:
                unlisted = _change_call(state, call._replace(listed=False))
                yield then(
                    "takes the call off its list", worker._replace(at="completing"), unlisted
                )
            elif variant.has(Guard.LAST_LOOK):
                answered = worker._replace(at="answered", answer="not sent")
                yield then("finds no time left to write", answered)
            else:
                late = _change_call(state, call._replace(copy="accepted"))
                yield then("writes after the deadline, and it is accepted", Worker(), late)
        case "completing":
            call = call_of(state, worker.call)
            assert call is not None
            calling = worker._replace(at="calling")
            if call.left > 0:
                yield then("completes the call", calling, _wrote(state, call))
            else:
                # The socket was shut down at the deadline.
                yield then("gets no answer", worker._replace(at="answered", answer="unknown"))
        case "calling":
            call = call_of(state, worker.call)
            assert call is not None
            answered = worker._replace(at="answered")
            if call.copy in ("accepted", "put off"):
                yield then("reads the reply", answered._replace(answer=call.copy))
            yield then("gets no answer", answered._replace(answer="unknown"))
        case "answered":
            yield then(
                f"settles the call ({worker.answer})", Worker(), _settled(state, worker, variant)
            )
        case "looking_up" if variant.asks_for_later_mail and variant.has(Guard.WITNESS_FIRST):
            asked = _asked_for_later_mail(state, worker, variant)
            yield then("asks for later mail", asked._replace(at="asking"))
        case "looking_up" | "asking":
            is_last = worker.at == "asking" or not variant.asks_for_later_mail
            asking = worker._replace(at="asked" if is_last else "asked too early")
            yield then("asks for the attempt", asking._replace(answer=_found(state, worker)))
            yield then("gets no answer from the search", asking._replace(answer="down"))
        case "asked too early":
            asked = _asked_for_later_mail(state, worker, variant)
            yield then("asks for later mail", asked._replace(at="asked"))
        case "asked" if _needs_check_mail(state, worker, variant):
            call = call_of(state, worker.claim.attempt)
            assert call is not None
            checked = _change_call(state, call._replace(checked=True))
            yield then("sends check mail", worker._replace(at="looking_up"), checked)
        case "asked":
            changed = _looked_up(state, worker, variant)
            yield then(f"settles the look-up ({worker.answer})", Worker(), changed)


def _claimed(state: State, name: str, lease: int) -> tuple[State, Claim]:
    epoch = _new_epoch(state)
    batch = state.batch._replace(state=name, epoch=epoch, lease=lease, due=0, orphaned=False)
    return state._replace(batch=batch), Claim(epoch, batch.attempt)


def _new_epoch(state: State) -> int:
    """Return an epoch that no process remembers; real epochs only count up."""
    known = {state.batch.epoch} | {worker.claim.epoch for worker in state.workers}
    known |= {call.epoch for call in state.calls} | {lost.epoch for lost in state.sweeps}
    return next(number for number in range(1, len(known) + 2) if number not in known)


def _released(state: State, worker: Worker) -> State:
    batch = state.batch
    if batch.state != "claimed" or batch.epoch != worker.claim.epoch:
        return state
    return state._replace(batch=batch._replace(state="ready", lease=0, orphaned=False))


def _started(state: State, worker: Worker, variant: Variant) -> tuple[str, Worker, State]:
    batch = state.batch
    if batch.state != "claimed" or batch.epoch != worker.claim.epoch or batch.lease == 0:
        return "may not start: its claim is lost", Worker(), state
    if batch.evidence:
        return "sets the marked copy aside", Worker(), state._replace(batch=_aside(batch))
    used = {call.number for call in state.calls}
    number = next(number for number in range(1, len(used) + 2) if number not in used)
    call = Call(number, worker.claim.epoch, variant.deadline, listed=True)
    held = variant.held_after_start
    batch = batch._replace(state="sending", attempt=number, lease=held, outcome="waiting")
    calls = (*state.calls, call)
    started = worker._replace(at="started", call=number)
    return "starts the call", started, state._replace(batch=batch, calls=calls)


def _aside(batch: Batch) -> Batch:
    return batch._replace(
        state="unknown", outcome="unknown", lease=0, due=0, attempt=0, doubt=0, lookups=0
    )


def _wrote(state: State, call: Call) -> State:
    return _change_call(state, call._replace(copy="under way"))


def _change_call(state: State, call: Call) -> State:
    calls = tuple(call if one.number == call.number else one for one in state.calls)
    return state._replace(calls=calls)


def _holds(batch: Batch, worker: Worker, was: str, outcome: str) -> bool:
    """Check the guards of a settlement, and the outcome in the delivery's row."""
    return (batch.state, batch.epoch, batch.outcome) == (was, worker.claim.epoch, outcome)


def _settled(state: State, worker: Worker, variant: Variant) -> State:
    batch = state.batch
    reported = state.reported or worker.answer == "accepted"
    if not _holds(batch, worker, "sending", "waiting"):
        kept = worker.answer == "accepted"
        return state._replace(
            batch=batch._replace(evidence=batch.evidence or kept), reported=reported
        )
    batch = batch._replace(lease=0, crashes=0, lookups=0, doubt=0)
    match worker.answer:
        case "accepted":
            batch = ended(batch, "sent")
        case "unknown":
            batch = batch._replace(state="unknown", outcome="unknown", due=variant.schedule[0])
        case _:  # The call was refused for now or not sent, so its copy was certainly not accepted.
            batch = requeued(batch._replace(due=variant.pause), state.control)
    return state._replace(batch=batch, reported=reported)


def requeued(batch: Batch, control: str) -> Batch:
    """Return a batch that waits again: queued, held back, or withdrawn if cancelled."""
    batch = batch._replace(outcome="waiting", lease=0, attempt=0, doubt=0, lookups=0)
    if control == "cancelled":
        return _aside(batch) if batch.evidence else ended(batch, "withdrawn")
    if control == "paused":
        return batch._replace(state="paused", due=0)
    return batch._replace(state="ready")


def ended(batch: Batch, outcome: str) -> Batch:
    return batch._replace(
        state="done", outcome=outcome, lease=0, due=0, attempt=0, doubt=0, lookups=0
    )


def _asked_for_later_mail(state: State, worker: Worker, variant: Variant) -> Worker:
    """Return the worker after its search for later mail, if the deadline has passed."""
    call = call_of(state, worker.claim.attempt)
    exists = call is not None and has_later_mail(call, variant)
    shown = call is not None and call.later_shown
    convincing = shown or not (exists and variant.has(Guard.WITNESS))
    return worker._replace(convincing=convincing, witnessed=exists and shown)


def has_later_mail(call: Call, variant: Variant) -> bool:
    """Return whether other mail was accepted after this call's deadline."""
    return call.checked or (variant.other_mail and call.left <= 0)


def _is_last(batch: Batch, variant: Variant) -> bool:
    return batch.lookups + 1 >= len(variant.schedule)


def _needs_check_mail(state: State, worker: Worker, variant: Variant) -> bool:
    batch, call = state.batch, call_of(state, worker.claim.attempt)
    return (
        variant.check_mail
        and variant.has(Guard.CHECK_MAIL)
        and _holds(batch, worker, "looking_up", "unknown")
        and worker.answer == "absent"
        and call is not None
        and not call.checked
        and (call.left <= 0 or not variant.has(Guard.CHECK_AFTER_DEADLINE))
        and _is_last(batch, variant)
        and (batch.lookups > 0 or variant.schedule[0] <= batch.doubt)
    )


def _found(state: State, worker: Worker) -> str:
    """Return the result of a search by the attempt, or else by the delivery."""
    attempt = worker.claim.attempt
    hits = (call.shown for call in state.calls if attempt == 0 or call.number == attempt)
    return "found" if worker.kept or any(hits) else "absent"


def _looked_up(state: State, worker: Worker, variant: Variant) -> State:
    batch = state.batch
    if not _holds(batch, worker, "looking_up", "unknown"):
        return state
    batch = batch._replace(state="unknown", lease=0)
    if worker.answer == "found":
        return state._replace(batch=ended(batch, "sent"), reported=True)
    failed = worker.answer == "down" and variant.has(Guard.NO_INFORMATION)
    if failed or not worker.convincing:
        return state._replace(batch=batch._replace(due=variant.pause))
    early = variant.schedule[0] - batch.doubt if batch.lookups == 0 else 0
    if early > 0 and variant.has(Guard.EARLY_LOOK):
        return state._replace(batch=batch._replace(due=min(variant.pause, early)))
    is_over = variant.one_silence and worker.witnessed
    if not _is_last(batch, variant) and not is_over:
        # The pause between two look-ups is at least as long as in the schedule.
        apart = variant.schedule[batch.lookups + 1] - variant.schedule[batch.lookups]
        due = max(apart, variant.schedule[batch.lookups + 1] - batch.doubt)
        return state._replace(batch=batch._replace(lookups=batch.lookups + 1, due=due))
    call = call_of(state, worker.claim.attempt)
    if variant.check_mail and variant.has(Guard.CHECK_MAIL) and call and not call.checked:
        return state._replace(batch=batch._replace(due=variant.pause))
    if batch.tries + 1 >= variant.max_tries or batch.crashes >= 2:
        return state._replace(batch=ended(batch._replace(tries=batch.tries + 1), "failed"))
    again = batch._replace(tries=batch.tries + 1, due=0)
    return state._replace(batch=requeued(again, state.control))
