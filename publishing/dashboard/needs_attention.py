"""The editions that wait for a decision, including older versions."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from delivery.reports.load_edition_counts import (
    load_all_counts,
    load_held_transactional,
    load_open_counts,
    load_open_newsletters,
)
from delivery.rules.edition_state import awaits_decision
from publishing.dashboard.sending_now import title_of
from publishing.editions.edition_status import EditionStatus, status_from_counts


def held_transactional() -> list[EditionStatus]:
    """Return the statuses of stopped transactional mail, with complete counts."""
    editions = load_held_transactional()
    if not editions:
        return []
    return [status_from_counts(counts) for counts in load_all_counts(editions, open_only=True)]


def load_undecided() -> list[EditionStatus]:
    """Return the statuses, oldest first, with counts of open batches only."""
    editions = [*load_open_newsletters(), *load_held_transactional()]
    return [
        status_from_counts(counts)
        for counts in sorted(load_open_counts(editions), key=lambda counts: counts.edition)
        if awaits_decision(counts)
    ]


def attention_lines() -> Iterator[str]:
    """Yield a line for each: issue, version, title, state and reason."""
    for status in load_undecided():
        counts = status.counts
        yield _("issue {issue} version {version} “{title}”: {state}. {reason}").format(
            issue=counts.issue,
            version=counts.version,
            title=title_of(status),
            state=status.state_words,
            reason=status.reason(),
        )
