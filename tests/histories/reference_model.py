"""Model of the provider's messages and of all actions, with the rules for both.

It knows every call on the wire and every message that the provider keeps. It never asks the code
under test. Times are true times.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from delivery.postmark.client import now_s
from delivery.rules.call_results import AllAccepted, Answered, CallResult, Unanswered
from delivery.rules.outcomes import Failed, Sent, Suppressed
from postmark_sandbox.sandbox_state import Sandbox
from postmark_sandbox.times import now_ns

# The last look-up comes this long after a call's end. Nothing unconfirmed is resent before it,
# unless the database's clock was set forward meanwhile (docs/guarantees.md).
ASKED_FOR_THE_LAST_TIME_AFTER_S = 900.0


class TrueClock:
    """Clock of readers, provider and workers, in seconds.

    Time passes here without waiting: stored times are moved into the past instead. The database's
    clock may be set forward or back; this one runs evenly.
    """

    def __init__(self) -> None:
        self.passed_s = 0.0

    def now(self) -> float:
        return now_s() + self.passed_s


class WrongError(AssertionError):
    """A promise was broken."""


@dataclass(slots=True)
class Call:
    """Call on the wire, by its attempt."""

    attempt: str
    edition: str
    keys: Sequence[str]
    began: float
    deadline: float
    answer: CallResult | None = None
    settled: bool = False

    def leaves_in_doubt(self, key: str) -> bool:
        """Return whether the recorded answer leaves a key's result unconfirmed."""
        if not self.settled or self.answer is None or isinstance(self.answer, Unanswered):
            return True
        if isinstance(self.answer, AllAccepted | Answered):
            return isinstance(self.answer.messages[self.keys.index(key)], Unanswered)
        return False

    @property
    def accepted(self) -> bool:
        """Return whether acceptances of it were reported and recorded."""
        return (
            self.settled
            and isinstance(self.answer, AllAccepted | Answered)
            and any(isinstance(message, Sent) for message in self.answer.messages)
        )


@dataclass(frozen=True, slots=True)
class Copy:
    """Message that the provider keeps."""

    id: str
    key: str
    attempt: str
    accepted: float


@dataclass(frozen=True, slots=True)
class Asked:
    """Search that answered: when, and how far the index was behind."""

    at: float
    lag_s: float

    def shows(self, copy: Copy) -> bool:
        """Return whether the search could have listed this message."""
        return copy.accepted <= self.at - self.lag_s


@dataclass(frozen=True, slots=True)
class Row:
    """Recorded state of one delivery; `evidence` holds its recorded provider ids."""

    key: str
    outcome: str
    missed: bool
    bears: str | None
    batch_state: str
    evidence: Collection[str]
    control: str
    edition: int


IN_SOMEBODYS_HANDS = frozenset({"sending", "looking_up"})


@dataclass(slots=True)
class Truth:
    sandbox: Sandbox
    clock: TrueClock
    calls: list[Call] = field(default_factory=list)
    # Searches that answered, by an attempt's hex or a delivery's key.
    asked: dict[str, list[Asked]] = field(default_factory=dict)
    # Readers who left or must not be mailed, and the reason.
    gone: dict[int, set[str]] = field(default_factory=dict)
    # The provider's final refusals of a key: `inactive` or `refused`.
    judged: dict[str, set[str]] = field(default_factory=dict)
    # Keys that an author chose to resend.
    risked: set[str] = field(default_factory=set)
    # Copies that the provider reported by webhook.
    reported: set[str] = field(default_factory=set)
    # Edition by “<issue hex>.<version>”: no call before this true time.
    held_until: dict[str, float] = field(default_factory=dict)
    clock_was_set: bool = False
    # The true time at which the database's clock was last set forward.
    set_forward_at: float = -math.inf
    # Batches that a reaper recovered: their earlier workers count as lost.
    came_back: int = 0
    seen: Counter[str] = field(default_factory=Counter)

    def copies(self, key: str) -> list[Copy]:
        outbox = self.sandbox.outbox
        found = []
        for number in sorted(outbox.with_metadata("delivery", key)):
            message = outbox.message(number)
            age_s = (now_ns() - message.at_ns) / 1e9
            found.append(
                Copy(message.id, key, message.metadata["attempt"], self.clock.now() - age_s)
            )
        return found

    def calls_for(self, key: str) -> list[Call]:
        return [call for call in self.calls if key in call.keys]

    def may_go(self, call: Call, *, gone: Collection[int], control: str) -> None:
        """Check a call that is about to be made against everything that forbids it.

        `gone`: readers who must not be mailed. `control`: the edition's control when the statement
        recorded the call.
        """
        if control != "running":
            raise WrongError(f"A call began while its edition was {control}: {call.keys}")
        if call.began < self.held_until.get(call.edition, 0.0) and not self.clock_was_set:
            raise WrongError(f"A call began before the end of the hold: {call.keys}")
        for key in call.keys:
            if int(key.rpartition(".")[2]) in gone:
                raise WrongError(f"A call includes a reader who was gone before: {key}")
            self._may_go_again(key, call)

    def _may_go_again(self, key: str, call: Call) -> None:
        copies = self.copies(key)
        if any(copy.id in self.reported for copy in copies):
            raise WrongError(f"{key} is resent, but the provider has reported a copy")
        if key in self.risked:
            return
        for copy in copies:
            if not self.was_hidden_absence(copy):
                raise WrongError(f"{key} is resent, but the provider has it as {copy.id}")
            self.seen["resent after an undetectable silence"] += 1
        for earlier in self.calls_for(key):
            if earlier is not call and earlier.leaves_in_doubt(key):
                self.seen["unconfirmed and resent"] += 1
                if (
                    call.began - earlier.began < ASKED_FOR_THE_LAST_TIME_AFTER_S
                    and earlier.began > self.set_forward_at
                ):
                    raise WrongError(
                        f"{key} is resent {call.began - earlier.began:.0f} s after a call "
                        "whose end is unknown"
                    )

    def answered(self, call: Call, answer: CallResult) -> None:
        call.answer = answer
        if isinstance(answer, AllAccepted | Answered):
            for key, message in zip(call.keys, answer.messages, strict=True):
                if isinstance(message, Suppressed):
                    self.judged.setdefault(key, set()).add("inactive")
                if isinstance(message, Failed):
                    self.judged.setdefault(key, set()).add("refused")

    def was_asked(self, value: str) -> None:
        """Record that a search for this attempt or delivery answered now."""
        self.asked.setdefault(value, []).append(Asked(self.clock.now(), self._lag_s()))

    def _lag_s(self) -> float:
        for rule in self.sandbox.faults.all():
            if rule.kind == "search_delay":
                return float(rule.settings["seconds"])
        return 0.0

    def was_hidden_absence(self, copy: Copy) -> bool:
        """Return whether an empty search hid an accepted copy undetectably.

        This is the remaining risk: the copy was accepted after the last look-up, or after the mail
        that had to be shown.
        """
        if copy.key in self.risked:
            return True
        searches = [*self.asked.get(copy.attempt, []), *self.asked.get(copy.key, [])]
        if not searches:
            return False
        last = max(searches, key=lambda search: search.at)
        if last.shows(copy):
            return False
        return copy.accepted > last.at or not self._had_a_witness(copy, last)

    def _had_a_witness(self, copy: Copy, search: Asked) -> bool:
        """Return whether the first call accepted after this one would show the lag.

        Without such a call, check mail after its deadline would.
        """
        unconfirmed = next(call for call in self.calls if call.attempt == copy.attempt)
        later = [
            call
            for call in self.calls
            if call.accepted and unconfirmed.deadline < call.began <= search.at
        ]
        is_earlier = not later or later[0].began >= copy.accepted
        return is_earlier and not self.clock_was_set

    def hold_against(self, row: Row) -> None:
        """Compare one delivery's row with the provider's messages."""
        copies = self.copies(row.key)
        ids = {copy.id for copy in copies}
        if row.outcome == "sent":
            if row.bears not in ids:
                raise WrongError(
                    f"{row.key} is sent as {row.bears}, but the provider has {sorted(ids)}"
                )
            return
        if row.outcome == "unknown" or row.batch_state in IN_SOMEBODYS_HANDS:
            return
        if row.outcome == "waiting":
            # A worker looks it up before it could be resent.
            copies = [copy for copy in copies if copy.id not in row.evidence]
        for copy in copies:
            if copy.id in row.evidence or not self.was_hidden_absence(copy):
                raise WrongError(f"{row.key} is {row.outcome}, but the provider has it: {copy.id}")

    def explains(self, key: str, outcome: str, *, missed: bool, control: str) -> bool:
        """Return whether this history explains a final outcome other than `sent`."""
        how = self.gone.get(int(key.rpartition(".")[2]), set())
        judged = self.judged.get(key, set())
        match outcome:
            case "withdrawn":
                return "left" in how or control == "cancelled"
            case "suppressed":
                # An address that was refused in one edition is suppressed in the next.
                return "suppressed" in how or "inactive" in judged or self._was_refused(key)
            case "failed" if missed:
                return len(self.calls_for(key)) > 1 or self.came_back > 1
            case "failed":
                return "refused" in judged
            case _:
                return False

    def _was_refused(self, key: str) -> bool:
        reader = key.rpartition(".")[2]
        return any(
            other.rpartition(".")[2] == reader and "refused" in judged
            for other, judged in self.judged.items()
        )


def settled_calls(calls: Sequence[Call], results: Mapping[str, str | None]) -> None:
    """Mark the calls whose results are recorded in their attempts."""
    for call in calls:
        call.settled = results.get(call.attempt) in {"answered", "refused", "not_sent"}
