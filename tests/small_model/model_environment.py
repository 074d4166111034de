"""Steps around the workers: provider, search, reaper, author and time."""

from tests.small_model.model_worker import Steps, ended, has_later_mail, requeued
from tests.small_model.state import UNDER_A_LEASE, Batch, Call, Lost, State, Step, call_of
from tests.small_model.worlds import Variant


def provider_steps(state: State, variant: Variant) -> Steps:
    """Return the provider's steps.

    Until its deadline, a call whose bytes are under way may be accepted or deferred, even if its
    worker no longer waits. Bytes that have not arrived by the deadline are lost.
    """

    def then(what: str, call: Call) -> tuple[Step, State]:
        calls = tuple(call if one.number == call.number else one for one in state.calls)
        return Step("The provider", what), state._replace(calls=calls)

    for call in state.calls:
        if call.copy == "under way" and call.left > 0:
            yield then("accepts the copy", call._replace(copy="accepted"))
            yield then("puts the call off", call._replace(copy="put off"))
        if call.copy == "accepted" and not call.shown:
            yield then("shows the copy in its search", call._replace(shown=True, age=0))
        if (
            has_later_mail(call, variant)
            and call.number == state.batch.attempt
            and not call.later_shown
            and (
                not variant.in_order
                or all(one.shown for one in state.calls if one.copy == "accepted")
            )
        ):
            yield then("shows later mail in its search", call._replace(later_shown=True))


def sweep_steps(state: State, index: int) -> Steps:
    """Return the lease reaper's steps: see a lost worker, then recover its batch."""
    batch, lost = state.batch, state.sweeps[index]

    def then(what: str, lost: Lost, batch: Batch = batch) -> tuple[Step, State]:
        sweeps = (*state.sweeps[:index], lost, *state.sweeps[index + 1 :])
        return Step("The sweep", what), state._replace(batch=batch, sweeps=sweeps)

    if not lost.state:
        if batch.state not in UNDER_A_LEASE:
            return
        if batch.lease == 0:
            yield then(f"sees a lost worker ({batch.state})", Lost(batch.state, batch.epoch))
        if batch.orphaned:
            call = call_of(state, batch.attempt) if batch.state == "sending" else None
            unsent = call is not None and call.listed
            dead = Lost(batch.state, batch.epoch, dead=True, unsent=unsent)
            yield then(f"sees a dead worker ({batch.state})", dead)
        return
    still = (batch.state, batch.epoch) == lost[:2]
    if still and (lost.dead or batch.lease == 0):
        swept = _swept(state, lost)
        yield then(f"brings the batch back ({lost.state})", Lost(), swept)
    else:
        yield then("finds that it came too late", Lost())


def _swept(state: State, lost: Lost) -> Batch:
    batch = state.batch._replace(lease=0, orphaned=False)
    if lost.state == "claimed" or lost.unsent:
        batch = batch._replace(crashes=batch.crashes + 1)
        if state.control == "cancelled" or batch.crashes < 2:
            return requeued(batch, state.control)
        return ended(batch, "failed")
    if lost.state == "sending":
        call = call_of(state, batch.attempt)
        doubt = -call.left if call else 0  # counted from the recorded deadline
        return batch._replace(
            state="unknown",
            outcome="unknown" if batch.outcome == "waiting" else batch.outcome,
            doubt=doubt,
            due=0,
            lookups=0,
            crashes=batch.crashes + 1,
        )
    return batch._replace(state="unknown", due=0)


def person_steps(state: State) -> Steps:
    """Return the author's steps: pause, resume or cancel the edition."""
    batch = state.batch
    in_no_call = batch.state in ("ready", "claimed", "paused")

    def then(what: str, control: str) -> tuple[Step, State]:
        changed = requeued(batch._replace(due=0), control) if in_no_call else batch
        return Step("The author", what), state._replace(batch=changed, control=control)

    match state.control:
        case "running":
            yield then("pauses", "paused")
            yield then("cancels", "cancelled")
        case "paused":
            yield then("resumes", "running")
            yield then("cancels", "cancelled")


def tick(state: State, variant: Variant) -> State:
    """Let one tick pass. A counter stops when no step could notice a further change."""
    batch, last = state.batch, variant.schedule[-1]
    in_doubt = batch.state in ("unknown", "looking_up")
    later = batch._replace(
        lease=max(0, batch.lease - 1),
        due=max(0, batch.due - 1),
        doubt=min(last, batch.doubt + 1) if in_doubt else 0,
    )
    calls = tuple(_aged(call, batch, variant) for call in state.calls)
    return state._replace(batch=later, calls=calls)


def _aged(call: Call, batch: Batch, variant: Variant) -> Call:
    counts_on = batch.state == "sending" and batch.attempt == call.number
    call = call._replace(left=max(-variant.schedule[-1] if counts_on else 0, call.left - 1))
    if call.copy != "accepted" or call.shown or variant.lag is None:
        return call
    shown = call.age + 1 >= variant.lag
    return call._replace(age=0 if shown else call.age + 1, shown=shown)
