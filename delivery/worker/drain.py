"""Work until the queue is drained, with progress and totals."""

import time
from collections import Counter
from dataclasses import dataclass

from django.core.management.base import OutputWrapper

from delivery.mail.transactional_mail import edition_name
from delivery.queue.claim import next_due_at
from delivery.reports.edition_counts import (
    load_all_counts,
    load_open_transactional_batches,
    sum_batches,
)
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_reason import reason_of
from delivery.rules.edition_state import awaits_decision
from delivery.tasks import background_tasks

OUTCOMES = ("sent", "suppressed", "withdrawn", "failed", "unknown", "waiting")
# Often enough to be watched, seldom enough to be read in a log.
LINE_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over the editions that were open at the start, and what waits for a person now."""

    editions: int
    totals: Counter[str]
    reasons: tuple[str, ...]

    @property
    def awaits_decision(self) -> bool:
        """Whether an edition waits for a person."""
        return bool(self.reasons)

    def by_outcome(self) -> dict[str, int | bool]:
        """The counts as one JSON object."""
        return {
            "editions": self.editions,
            "audience": self.totals["audience"],
            **{outcome: self.totals[outcome] for outcome in OUTCOMES},
        }


def _name(counts: EditionCounts) -> str:
    return edition_name(counts.kind, counts.version) if counts.is_transactional else counts.title


class Drain:
    """Follows the editions that are open now until the queue is drained. An edition of
    transactional mail is open for years: only its batches that are open now count."""

    def __init__(self, output: OutputWrapper, *, is_terminal: bool) -> None:
        self._output = output
        self._is_terminal = is_terminal
        open_now = load_all_counts(open_only=True)
        self._editions = [counts.edition for counts in open_now if not counts.is_transactional]
        self._transactional_editions = sum(counts.is_transactional for counts in open_now)
        self._transactional_batches = load_open_transactional_batches()
        self._last_line_at = -LINE_EVERY_S

    def is_drained(self) -> bool:
        """Whether no batch and no task waits anywhere. Shows progress."""
        self._show_progress()
        # In this order: an import's last piece brings mail that is due from then on.
        return not background_tasks.is_any_due() and next_due_at() is None

    def totals(self) -> Totals:
        """The counts now; says what waits for a person, also in what was published meanwhile."""
        waiting = [counts for counts in load_all_counts(open_only=True) if awaits_decision(counts)]
        totals = Totals(
            editions=len(self._editions) + self._transactional_editions,
            totals=self._totals(),
            reasons=tuple(
                f"{_name(counts)}: {reason_sentence(reason_of(counts))}" for counts in waiting
            ),
        )
        if self._is_terminal:
            self._output.write("")
        for reason in totals.reasons:
            self._output.write(f"Waits for a person. {reason}")
        return totals

    def _totals(self) -> Counter[str]:
        totals = Counter(sum_batches(self._transactional_batches))
        for counts in load_all_counts(among=self._editions):
            totals.update({name: getattr(counts, name) for name in ("audience", *OUTCOMES)})
        return totals

    def _show_progress(self) -> None:
        pause = 0.0 if self._is_terminal else LINE_EVERY_S
        if time.monotonic() - self._last_line_at < pause:
            return
        self._last_line_at = time.monotonic()
        totals = self._totals()
        line = f"{totals['sent']:,} of {totals['audience']:,} sent"
        for outcome in ("unknown", "failed", "suppressed", "withdrawn"):
            if totals[outcome]:
                line += f", {totals[outcome]:,} {outcome}"
        if self._is_terminal:
            self._output.write(f"\r\x1b[K{line}", ending="")
        else:
            self._output.write(line)
