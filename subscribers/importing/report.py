"""The counts and the report of an import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field

from subscribers.importing.file_format.description import Description
from subscribers.models import SubscriberImport

# Among the counts of statuses: readers who are added and stay pending even with --confirmed.
ADDED_PENDING = "added, pending"


@dataclass(frozen=True, slots=True)
class Counts:
    """The results of the rows of a file; each row counts once. `skipped`: that reader is gone."""

    added: int = 0
    known: int = 0
    duplicates: int = 0
    skipped: int = 0
    rejected: int = 0

    @property
    def rows(self) -> int:
        return sum(astuple(self))

    def __add__(self, more: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(more), strict=True)))


def counts_of(record: SubscriberImport) -> Counts:
    """The counts of an import so far."""
    return Counts(**{name: getattr(record, name) for name in asdict(Counts())})


def description_of(record: SubscriberImport) -> Description | None:
    """How the file was understood; None once that is deleted."""
    return None if record.read_as is None else Description.from_json(record.read_as)


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far an import is: rows so far, and bytes of the file read of how many."""

    rows: int
    bytes_read: int
    size: int

    @property
    def percent(self) -> int:
        return 100 * self.bytes_read // max(self.size, 1)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, or would do; `import_id` is None for a dry run of a new file. `created`
    is False for known content; `resumed` if that had been interrupted and was completed now."""

    import_id: int | None
    created: bool
    confirmed: bool
    counts: Counts
    skipped_because: Mapping[str, int] = field(default_factory=Counter)
    resumed: bool = False
    read_as: Description | None = None
    statuses: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, int | bool | None]:
        """The keys that scripts rely on; the last five add up to `rows`."""
        return {
            "import": self.import_id,
            "created": self.created,
            "rows": self.counts.rows,
            **asdict(self.counts),
        }
