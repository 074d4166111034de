"""What the page of an edition shows, decided from its status. Pure."""

import math
from dataclasses import dataclass
from datetime import datetime

from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState
from publishing.actions.edition_actions import applicable, refuse_reschedule
from publishing.editions.status import EditionStatus
from publishing.progress_bar import ORDER, Part, label_of, parts_of

GLYPHS = {
    EditionState.SCHEDULED: "held",
    EditionState.HELD: "held",
    EditionState.SENDING: "sending",
    EditionState.PAUSED: "paused",
    EditionState.NEEDS_ATTENTION: "attention",
    EditionState.SUCCEEDED: "sent",
    EditionState.CANCELLED: "withdrawn",
    EditionState.CLOSED: "done",
}
TONES = {
    EditionState.SENDING: "sent",
    EditionState.SUCCEEDED: "sent",
    EditionState.NEEDS_ATTENTION: "fault",
    EditionState.CANCELLED: "calm",
    EditionState.CLOSED: "calm",
}
OUTCOME_TONES = {
    "sent": "sent",
    "unknown": "doubt",
    "failed": "fault",
    "suppressed": "calm",
    "withdrawn": "calm",
    "waiting": "calm",
}
AT_REST = frozenset({EditionState.SUCCEEDED, EditionState.CANCELLED, EditionState.CLOSED})


@dataclass(frozen=True, slots=True)
class EditionProgress:
    """An edition as its page shows it; `lookup_at` is None if the next look-up is due now."""

    status: EditionStatus
    glyph: str
    tone: str
    outcomes: list[tuple[str, int, str]]
    bar: list[Part]
    label: str
    actions: frozenset[str]
    is_reschedulable: bool
    is_at_rest: bool
    is_public: bool
    is_undecided: bool
    lookup_at: datetime | None

    @property
    def counts(self) -> EditionCounts:
        """The counts that it was read from."""
        return self.status.counts

    @property
    def is_held(self) -> bool:
        """Whether it can still be called back for free."""
        return self.status.state is EditionState.HELD

    @property
    def held_s(self) -> int:
        """Seconds until the hold ends."""
        if not self.is_held:
            return 0
        return math.ceil((self.counts.held_until - self.counts.now).total_seconds())

    @property
    def countdown(self) -> str:
        """The same as a clock: 0:30."""
        return f"{self.held_s // 60}:{self.held_s % 60:02}"

    @property
    def hold_s(self) -> float:
        """How long the hold was when it was published, in seconds; 0 if there was none."""
        held_s = (self.counts.held_until - self.counts.published_at).total_seconds()
        return held_s if held_s >= 1 and self.counts.control != "scheduled" else 0

    @property
    def ended_in_hold(self) -> bool:
        """Whether it was called back or cancelled before its hold ended."""
        at = self.counts.control_at
        return self.counts.control == "cancelled" and bool(at and at < self.counts.held_until)

    @property
    def is_active(self) -> bool:
        """Whether rate, time left and workers are of interest."""
        return self.status.state not in AT_REST and self.counts.has_started

    @property
    def rate_per_minute(self) -> int:
        """Copies a minute at the present rate."""
        return round(self.counts.rate_per_s * 60)

    @property
    def may_have_returns(self) -> bool:
        """Whether bounces and complaints can have come."""
        return self.counts.sent + self.counts.bounced + self.counts.complained > 0


def progress_of(status: EditionStatus) -> EditionProgress:
    """The progress page of an edition in this status."""
    counts, by_outcome = status.counts, counts_of(status.counts)
    is_undecided = (
        counts.parked_batches > 0 and not counts.leased_batches and counts.next_lookup_at is None
    )
    lookup_at = counts.next_lookup_at
    return EditionProgress(
        status=status,
        glyph=GLYPHS[status.state],
        tone=TONES.get(status.state, ""),
        outcomes=[(name, by_outcome[name], OUTCOME_TONES[name]) for name in ORDER],
        bar=parts_of(by_outcome),
        label=label_of(by_outcome, counts.audience),
        actions=frozenset(action.name for action in applicable(status)),
        is_reschedulable=not refuse_reschedule(status),
        is_at_rest=is_at_rest(status),
        is_public=is_public(counts),
        is_undecided=is_undecided,
        lookup_at=lookup_at if lookup_at is not None and lookup_at > counts.now else None,
    )


def counts_of(counts: EditionCounts) -> dict[str, int]:
    """The counts by outcome, in their order."""
    return {outcome: getattr(counts, outcome) for outcome in ORDER}


def is_at_rest(status: EditionStatus) -> bool:
    """Whether nothing more happens automatically. Calls that left before an end still settle."""
    return status.state in AT_REST and not (
        status.counts.leased_batches or status.counts.queued_batches
    )


def is_public(counts: EditionCounts) -> bool:
    """Whether the archive shows it: published, its hold ended, and not cancelled unread."""
    if counts.is_transactional or counts.control == "scheduled":
        return False
    return counts.now >= counts.held_until and (counts.control != "cancelled" or counts.sent > 0)
