"""The model's state as plain values; to keep it finite, times are ticks left."""

from typing import NamedTuple

UNDER_A_LEASE = ("claimed", "sending", "looking_up")


class Batch(NamedTuple):
    """The rows of the batch and of its one delivery."""

    state: str = "ready"
    epoch: int = 0
    lease: int = 0
    due: int = 0
    attempt: int = 0  # number of the recorded call
    doubt: int = 0  # ticks since the copy became unconfirmed
    lookups: int = 0
    tries: int = 0
    crashes: int = 0
    outcome: str = "waiting"
    evidence: bool = False
    orphaned: bool = False  # the process that holds the batch has ended


class Claim(NamedTuple):
    """The values that a worker keeps from its claim."""

    epoch: int = 0
    attempt: int = 0


class Worker(NamedTuple):
    """A worker between two steps. `at` names the last step of the worker.

    A frozen worker makes no step while other workers continue.
    """

    at: str = "idle"
    claim: Claim = Claim()
    call: int = 0
    kept: bool = False  # evidence that existed when the look-up began
    convincing: bool = True
    witnessed: bool = False  # later mail exists and was shown
    answer: str = ""


class Call(NamedTuple):
    """A call as the provider sees it. `Batch.attempt` is the database's record of it."""

    number: int
    epoch: int
    left: int  # ticks to the deadline; negative afterwards
    copy: str = "not written"  # not written | under way | accepted | put off
    # the worker's process lists the call as unsent, even after the process has ended
    listed: bool = False
    age: int = 0  # ticks since the acceptance
    shown: bool = False  # whether the provider's search shows the copy
    checked: bool = False  # whether check mail was sent for the call
    later_shown: bool = False  # whether the search shows later mail


class Lost(NamedTuple):
    """A lost worker's batch that a reaper has seen and will recover later.

    `dead`: the worker's process has ended. `unsent`: this process listed the call as unsent.
    """

    state: str = ""
    epoch: int = 0
    dead: bool = False
    unsent: bool = False


class State(NamedTuple):
    batch: Batch
    workers: tuple[Worker, ...]
    sweeps: tuple[Lost, ...]
    calls: tuple[Call, ...] = ()
    control: str = "running"
    reported: bool = False  # an acceptance was reported to the database


class Step(NamedTuple):
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.who} {self.what}"


def call_of(state: State, number: int) -> Call | None:
    """Return the call with this number if it is still remembered."""
    return next((call for call in state.calls if call.number == number), None)


def may_have(state: State, call: Call) -> bool:
    """Return whether the provider accepted the call's copy, or may still accept it."""
    if call.copy == "accepted":
        return True
    if call.left <= 0:
        return False
    waits_to_write = any(
        w.at in ("started", "completing") and w.call == call.number for w in state.workers
    )
    return call.copy == "under way" or (call.copy == "not written" and waits_to_write)
