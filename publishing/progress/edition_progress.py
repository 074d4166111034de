"""What an edition's progress page shows, derived from the edition's status."""

import math
from functools import cached_property

from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState
from publishing.actions.action_sentences import ActionRefusal
from publishing.actions.edition_actions import applicable, refusal_of
from publishing.editions.edition_status import EditionStatus
from publishing.progress_bar import ORDER, label_of, parts_of

# The symbol of each state, and its tone, which selects a colour.
LOOKS = {
    EditionState.SCHEDULED: ("held", ""),
    EditionState.HELD: ("held", ""),
    EditionState.SENDING: ("sending", "sent"),
    EditionState.PAUSED: ("paused", ""),
    EditionState.NEEDS_ATTENTION: ("attention", "fault"),
    EditionState.SUCCEEDED: ("sent", "sent"),
    EditionState.CANCELLED: ("withdrawn", "calm"),
    EditionState.CLOSED: ("done", "calm"),
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


class EditionProgress:
    """The facts that an edition's page shows, derived from the edition's status."""

    def __init__(self, status: EditionStatus) -> None:
        counts, by_outcome = status.counts, counts_of(status.counts)
        self.status, self.counts = status, counts
        self.glyph, self.tone = LOOKS[status.state]
        self.outcomes = [(name, by_outcome[name], OUTCOME_TONES[name]) for name in ORDER]
        self.bar, self.label = parts_of(by_outcome), label_of(by_outcome, counts.audience)
        self.is_reschedulable = not refusal_of("reschedule", status)
        self.is_at_rest = is_at_rest(status)
        self.is_public = is_public(counts)
        # Whether the page shows rate, time left and workers.
        self.is_active = status.state not in AT_REST and counts.has_started
        self.rate_per_minute = round(counts.rate_per_s * 60)
        self.may_have_returns = counts.sent + counts.bounced + counts.complained > 0
        # The time of the next look-up at the provider; None if it is due now.
        at = counts.next_lookup_at
        self.lookup_at = at if at is not None and at > counts.now else None
        self.is_undecided = counts.parked_batches > 0 and not counts.leased_batches and at is None
        # As long as the edition is held, an author can call it back.
        self.is_held = status.state is EditionState.HELD
        left_s = math.ceil((counts.held_until - counts.now).total_seconds())
        self.held_s = left_s if self.is_held else 0
        self.countdown = f"{self.held_s // 60}:{self.held_s % 60:02}"
        # The length of the hold at publication; 0 if there was none.
        hold_s = (counts.held_until - counts.published_at).total_seconds()
        self.hold_s = hold_s if hold_s >= 1 and counts.control != "scheduled" else 0
        is_cancelled, ended_at = counts.control == "cancelled", counts.control_at
        self.ended_in_hold = is_cancelled and bool(ended_at and ended_at < counts.held_until)

    @cached_property
    def actions(self) -> frozenset[str]:
        """The names of the actions that apply; computed only when a page reads them."""
        return frozenset(action.name for action in applicable(self.status))

    @property
    def past(self) -> str:
        """The names of the facts that are true now.

        The `until:` tags of messages use these names.
        """
        counts = self.counts
        facts = {
            "started": counts.control != "scheduled",
            "left": counts.sent > 0 or self.is_at_rest,
            "settled": not counts.being_sent,
            "confirmed": not counts.unknown,
            "undecided": self.is_undecided,
            "resumed": counts.control != "paused",
            "at_rest": self.is_at_rest,
        }
        return " ".join(name for name, is_true in facts.items() if is_true)

    @cached_property
    def needs_approval(self) -> bool:
        """Whether the edition cannot be sent because its approval is for another sender."""
        return refusal_of("send-now", self.status) is ActionRefusal.NEEDS_APPROVAL


def counts_of(counts: EditionCounts) -> dict[str, int]:
    """Return the counts by outcome, in the order in which pages show outcomes."""
    return {outcome: getattr(counts, outcome) for outcome in ORDER}


def is_at_rest(status: EditionStatus) -> bool:
    """Return whether nothing more happens automatically, except for calls in flight."""
    return status.state in AT_REST and not (
        status.counts.leased_batches or status.counts.queued_batches
    )


def is_public(counts: EditionCounts) -> bool:
    """Return whether the archive shows the edition.

    The archive shows an edition that is published and not held, unless it was cancelled before the
    first copy was sent.
    """
    if counts.is_transactional or counts.control == "scheduled":
        return False
    return counts.now >= counts.held_until and (counts.control != "cancelled" or counts.sent > 0)
