"""A state of the model: plain values. All times are ticks that are left, so states are finite."""

from typing import NamedTuple

UNDER_A_LEASE = ("claimed", "sending", "looking_up")


class Batch(NamedTuple):
    """The row of the batch, with that of its one delivery."""

    state: str = "ready"
    epoch: int = 0
    lease: int = 0
    due: int = 0
    attempt: int = 0  # the number of the call on record
    doubt: int = 0  # ticks since the doubt began
    lookups: int = 0
    tries: int = 0
    crashes: int = 0
    outcome: str = "waiting"
    evidence: bool = False


class Claim(NamedTuple):
    """What a worker took with it when it claimed."""

    epoch: int = 0
    attempt: int = 0


class Worker(NamedTuple):
    """
    A worker between two of its steps; `at` is the last thing it did. A frozen worker is one that
    makes no step while others do.
    """

    at: str = "idle"
    claim: Claim = Claim()
    call: int = 0
    kept: bool = False  # evidence that was there when the look-up began
    convincing: bool = True
    answer: str = ""


class Call(NamedTuple):
    """A call as the provider sees it. Its record in our counts is `Batch.attempt`."""

    number: int
    epoch: int
    left: int  # ticks to the deadline; below 0, ticks since
    copy: str = "not written"  # not written | under way | accepted | put off
    age: int = 0  # ticks since the acceptance
    shown: bool = False  # by the provider's search
    later_shown: bool = False  # mail that was accepted after the deadline is shown


class Lost(NamedTuple):
    """What a sweep saw: a batch whose lease was over. It acts on it a moment later."""

    state: str = ""
    epoch: int = 0


class State(NamedTuple):
    batch: Batch
    workers: tuple[Worker, ...]
    sweeps: tuple[Lost, ...]
    calls: tuple[Call, ...] = ()
    control: str = "running"
    told: bool = False  # somebody brought an acceptance to the counts


class Step(NamedTuple):
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.who} {self.what}"


def call_of(state: State, number: int) -> Call | None:
    """The call with this number, if it is still remembered."""
    return next((call for call in state.calls if call.number == number), None)


def may_have(state: State, call: Call) -> bool:
    """Whether the provider has accepted the call's copy, or may do so yet."""
    if call.copy == "accepted":
        return True
    if call.left <= 0:
        return False
    waits_to_write = any(w.at == "started" and w.call == call.number for w in state.workers)
    return call.copy == "under way" or (call.copy == "not written" and waits_to_write)
