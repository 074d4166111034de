"""The editions that continue only when a person decides, older versions among them."""

from collections.abc import Iterator

from delivery.reports.edition_counts import (
    load_all_counts,
    load_held_transactional,
    load_open_counts,
    load_open_newsletters,
)
from delivery.rules.edition_state import awaits_decision
from publishing.dashboard.sending_now import title_of
from publishing.editions.status import EditionStatus, status_from_counts


def held_transactional() -> list[EditionStatus]:
    """The statuses of held mail on request, which is in no list of issues; the counts are whole."""
    editions = load_held_transactional()
    if not editions:
        return []
    return [status_from_counts(counts) for counts in load_all_counts(editions, open_only=True)]


def load_undecided() -> list[EditionStatus]:
    """Their statuses, the oldest first, from the open batches only: the counts are incomplete."""
    editions = [*load_open_newsletters(), *load_held_transactional()]
    return [
        status_from_counts(counts)
        for counts in sorted(load_open_counts(editions), key=lambda counts: counts.edition)
        if awaits_decision(counts)
    ]


def attention_lines() -> Iterator[str]:
    """A line for each: its issue and version, its title, its state, and the reason."""
    for status in load_undecided():
        counts = status.counts
        yield (
            f"issue {counts.issue} version {counts.version} “{title_of(status)}”: "
            f"{status.state_words}. {status.reason()}"
        )
