"""What an import says about itself: counts that add up, and the rows it left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from types import MappingProxyType
from typing import Any

from subscribers.importing.file_format.description import Description, listed
from subscribers.importing.file_format.status import Status
from subscribers.models import SubscriberImport


@dataclass(frozen=True, slots=True)
class Counts:
    """
    What became of the rows of a file; each row counts once.

    `added`: on the list now. `known`: on the list before, left as they were. `duplicates`: the
    same address stood further up in the file. `skipped`: that person left, bounced or complained,
    here or as the file says. `rejected`: no reader that can be mailed.
    """

    added: int = 0
    known: int = 0
    duplicates: int = 0
    skipped: int = 0
    rejected: int = 0

    @property
    def rows(self) -> int:
        """All of them together."""
        return sum(astuple(self))

    def __add__(self, more: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(more), strict=True)))


def counts_of(record: SubscriberImport) -> Counts:
    """What stands on the row of an import."""
    return Counts(
        added=record.added,
        known=record.known,
        duplicates=record.duplicates,
        skipped=record.skipped,
        rejected=record.rejected,
    )


_MEANINGS: Mapping[Status, str] = MappingProxyType(
    {
        Status.SUBSCRIBED: "subscribed",
        Status.UNCONFIRMED: "not confirmed, added as pending in any case",
        Status.UNSUBSCRIBED: "unsubscribed",
        Status.BOUNCED: "bounced",
        Status.COMPLAINED: "complained",
        Status.BLOCKED: "blocked",
    }
)
# Among the counts of statuses: readers who are added and stay pending with --confirmed, too.
ADDED_PENDING = "added, pending"
SUPPRESSED = "recorded as suppressed and never mailed"


def statuses_in_words(statuses: Mapping[str, int]) -> str:
    """
    What the rows say of themselves; empty if the file has no status.

    Such as: 1,204 subscribed; 37 unsubscribed and 2 bounced: recorded as suppressed and never
    mailed.
    """
    said: dict[bool, list[str]] = {False: [], True: []}
    for status, meaning in _MEANINGS.items():
        if status in statuses:
            said[status.is_gone].append(f"{statuses[status]:,} {meaning}")
    if gone := said[True]:
        said[False].append(f"{listed(gone)}: {SUPPRESSED}")
    return "; ".join(said[False])


def read_as(record: SubscriberImport) -> Description | None:
    """How the file was understood; None for an expired import."""
    if record.read_as is None:
        return None
    return Description(**{name: _as_tuples(value) for name, value in record.read_as.items()})


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import is: rows so far, and bytes of the file read of how many."""

    rows: int
    bytes_read: int
    size: int

    @property
    def percent(self) -> int:
        """How much of the file was read, from 0 to 100."""
        return 100 * self.bytes_read // max(self.size, 1)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """
    What an import did, or would do.

    `import_id` is None for a dry run of a file that was not imported yet. `created` is False for
    a dry run and when the same content had been brought before; then all numbers are those of
    the first time, and `confirmed` is what was stated then. With `went_on` that first time had been
    broken off, and this one went on with it.
    """

    import_id: int | None
    created: bool
    confirmed: bool
    counts: Counts
    skipped_because: Counter[str] = field(default_factory=Counter)
    went_on: bool = False
    read_as: Description | None = None
    statuses: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, int | bool | None]:
        """The keys that scripts rely on; the last five add up to `rows`."""
        counts = self.counts
        return {
            "import": self.import_id,
            "created": self.created,
            "rows": counts.rows,
            "added": counts.added,
            "known": counts.known,
            "duplicates": counts.duplicates,
            "skipped": counts.skipped,
            "rejected": counts.rejected,
        }
