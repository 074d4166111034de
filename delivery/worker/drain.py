"""Follow the queue until it is drained, with progress and totals."""

import time
from collections import Counter

from django.core.management.base import OutputWrapper
from django.utils.translation import gettext as _

from delivery.humanise import digits
from delivery.mail.transactional_mail_texts import edition_name
from delivery.queue.claim_due_batch import next_due_at
from delivery.reports.load_edition_counts import (
    OUTCOMES,
    load_all_counts,
    load_open_transactional_batches,
    sum_batches,
)
from delivery.reports.waiting_sentence import waiting_sentence
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import awaits_decision
from delivery.tasks import register_background_task

LINE_EVERY_S = 5.0


def _name(counts: EditionCounts) -> str:
    return edition_name(counts.kind, counts.version) if counts.is_transactional else counts.title


class Drain:
    """Follow the editions that are open now, until the queue is drained.

    An edition of transactional mail is open for years, so the drain waits only for the batches that
    are open now.
    """

    def __init__(self, output: OutputWrapper, *, is_terminal: bool) -> None:
        self._output = output
        self._is_terminal = is_terminal
        open_now = load_all_counts(open_only=True)
        self._editions = [counts.edition for counts in open_now if not counts.is_transactional]
        self._transactional_editions = sum(counts.is_transactional for counts in open_now)
        self._transactional_batches = load_open_transactional_batches()
        self._last_line_at = -LINE_EVERY_S

    def is_drained(self) -> bool:
        """Show progress; return whether no batch and no task is waiting."""
        self._show_progress()
        # Check tasks first: the last piece of an import queues mail, which is then due.
        return not register_background_task.is_any_due() and next_due_at() is None

    def totals(self) -> tuple[dict[str, int], bool]:
        """Return the counts of outcomes, and whether an edition waits for a decision.

        Also write which editions wait for a decision, including editions published during the
        drain.
        """
        waiting = [counts for counts in load_all_counts(open_only=True) if awaits_decision(counts)]
        totals = self._totals()
        names = ("audience", *OUTCOMES)
        editions = len(self._editions) + self._transactional_editions
        if self._is_terminal:
            self._output.write("")
        for counts in waiting:
            self._output.write(
                _("A decision is needed for {title}: {reason}").format(
                    title=_name(counts), reason=waiting_sentence(counts)
                )
            )
        return {"editions": editions, **{name: totals[name] for name in names}}, bool(waiting)

    def _totals(self) -> Counter[str]:
        totals = Counter(sum_batches(self._transactional_batches))
        for counts in load_all_counts(self._editions):
            totals.update({name: getattr(counts, name) for name in ("audience", *OUTCOMES)})
        return totals

    def _show_progress(self) -> None:
        pause = 0.0 if self._is_terminal else LINE_EVERY_S
        if time.monotonic() - self._last_line_at < pause:
            return
        self._last_line_at = time.monotonic()
        totals = self._totals()
        shown = {
            _("Sent: {sent} of {audience}"): ("sent", "audience"),
            _("unconfirmed: {unknown}"): ("unknown",),
            _("failed: {failed}"): ("failed",),
            _("suppressed: {suppressed}"): ("suppressed",),
            _("withdrawn: {withdrawn}"): ("withdrawn",),
        }
        parts = [
            words.format(**{name: digits(totals[name]) for name in names})
            for words, names in shown.items()
            if names[0] == "sent" or totals[names[0]]
        ]
        line = ", ".join(parts)
        if self._is_terminal:
            self._output.write(f"\r\x1b[K{line}", ending="")
        else:
            self._output.write(line)
