"""Promises that every step of the protocol keeps, in every crash, freeze or race."""

from collections.abc import Callable

from tests.small_model.state import UNDER_A_LEASE, State, may_have

Promise = Callable[[State, State], bool]

NO_SECOND_COPY = "No reader gets a second copy."
REPORTED_IS_KNOWN = "A copy reported as accepted is not sent again."


def _no_second_copy(_: State, after: State) -> bool:
    return sum(call.copy == "accepted" for call in after.calls) <= 1


def _sent_is_sent(_: State, after: State) -> bool:
    accepted = any(call.copy == "accepted" for call in after.calls)
    return after.batch.outcome != "sent" or accepted


def _absent_is_absent(_: State, after: State) -> bool:
    batch = after.batch
    if batch.outcome in ("sent", "unknown"):
        return True
    under_way = batch.attempt if batch.state == "sending" else None
    return not any(may_have(after, call) for call in after.calls if call.number != under_way)


# The outcomes that a batch's only delivery may have in each state of the batch.
_OUTCOMES = {
    "done": {"sent", "failed", "withdrawn"},
    "unknown": {"unknown"},
    "looking_up": {"unknown"},
}


def _the_books_balance(_: State, after: State) -> bool:
    batch = after.batch
    leased = batch.state in UNDER_A_LEASE
    return batch.outcome in _OUTCOMES.get(batch.state, {"waiting"}) and (leased or not batch.lease)


def _one_holder(_: State, after: State) -> bool:
    batch = after.batch
    if batch.state not in UNDER_A_LEASE:
        return True
    holders = [w for w in after.workers if w.at != "idle" and w.claim.epoch == batch.epoch]
    calls = [c for c in after.calls if c.number == batch.attempt and batch.state == "sending"]
    return len(holders) <= 1 and all(call.epoch == batch.epoch for call in calls)


def _no_call_begins_after_a_stop(before: State, after: State) -> bool:
    return before.control == "running" or not _begins_a_call(before, after)


def _a_report_stays_known(before: State, after: State) -> bool:
    return not (before.reported and _begins_a_call(before, after))


def _begins_a_call(before: State, after: State) -> bool:
    now_started = sum(worker.at == "started" for worker in after.workers)
    return now_started > sum(worker.at == "started" for worker in before.workers)


def _fails_for_a_reason(_: State, after: State) -> bool:
    batch = after.batch
    return batch.outcome != "failed" or batch.tries >= 1 or batch.crashes >= 2


PROMISES: dict[str, Promise] = {
    NO_SECOND_COPY: _no_second_copy,
    "A copy that counts as sent was accepted.": _sent_is_sent,
    "A queued, failed or withdrawn copy was not accepted and cannot be.": _absent_is_absent,
    "The counts balance: the batch's state and its delivery's outcome agree.": _the_books_balance,
    "A batch has one holder, and the call on record is theirs.": _one_holder,
    "No call begins once the edition is paused or cancelled.": _no_call_begins_after_a_stop,
    REPORTED_IS_KNOWN: _a_report_stays_known,
    "A copy fails only after one unsuccessful try, or two lost workers.": _fails_for_a_reason,
}


def broken_by(before: State, after: State, promises: dict[str, Promise] = PROMISES) -> str:
    """Return the first promise that a step breaks, or an empty string."""
    return next((name for name, holds in promises.items() if not holds(before, after)), "")
