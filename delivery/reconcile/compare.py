"""Decides what the provider's record means beside ours
(docs/decisions/0012-a-restored-backup.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

from delivery.rules.call_results import FoundMessage


@dataclass(frozen=True, slots=True)
class RecordedDelivery:
    """What our row says about one delivery."""

    outcome: str
    message_id: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A page of the provider's record beside ours: recipients recorded with this message, messages
    that we have not recorded so, and messages to recipients without a delivery."""

    same: Sequence[int]
    news: Sequence[tuple[int, FoundMessage]]
    strangers: Sequence[tuple[int, FoundMessage]]


def compare(
    found: Sequence[tuple[int, FoundMessage]], recorded: Mapping[int, RecordedDelivery]
) -> Comparison:
    """Compare what the provider shows, as pairs of recipient and message, with our record."""
    same: list[int] = []
    news: list[tuple[int, FoundMessage]] = []
    strangers: list[tuple[int, FoundMessage]] = []
    for recipient, listed in found:
        row = recorded.get(recipient)
        if row is None:
            strangers.append((recipient, listed))
        elif row == RecordedDelivery("sent", listed.message_id):
            same.append(recipient)
        else:
            news.append((recipient, listed))
    return Comparison(same, news, strangers)


@dataclass(frozen=True, slots=True)
class SearchCoverage:
    """Which mail the provider's search would show: it has forgotten what was accepted before
    `since`, and may not have indexed what came after `until`. If it does not show the mail accepted
    last (`shows_later_mail` is false), it covers only what is older than the newest it did show."""

    since: datetime
    until: datetime
    shows_later_mail: bool
    last_accepted_at: datetime | None = None
    newest_shown_at: datetime | None = None

    def counts_for(self, sent_at: datetime) -> bool:
        """Whether a message accepted at `sent_at` would be shown."""
        if not self.since <= sent_at <= self.until:
            return False
        if self.shows_later_mail or self.last_accepted_at is None:
            return True
        if sent_at >= self.last_accepted_at:
            return True
        return self.newest_shown_at is not None and sent_at < self.newest_shown_at

    def is_too_early_for(self, sent_at: datetime) -> bool:
        """Whether a later walk can tell more about a message accepted at `sent_at`."""
        return sent_at >= self.since and not self.counts_for(sent_at)


def search_coverage(
    now: datetime,
    *,
    last_lookup_after_s: float,
    retention_days: int,
    shows_later_mail: bool,
    last_accepted_at: datetime | None,
    newest_shown_at: datetime | None,
) -> SearchCoverage:
    """The coverage of a walk that began at `now`, a reading of the database's clock."""
    return SearchCoverage(
        # One day less than the provider keeps: its days are not ours.
        since=now - timedelta(days=retention_days - 1),
        until=now - timedelta(seconds=last_lookup_after_s),
        shows_later_mail=shows_later_mail,
        last_accepted_at=last_accepted_at,
        newest_shown_at=newest_shown_at,
    )


def reconcilable_at(
    unreconciled_since: datetime, *, deadline_s: float, last_lookup_after_s: float
) -> datetime:
    """When an edition can be reconciled, at the earliest: calls have ended, and the index shows
    them."""
    return unreconciled_since + timedelta(seconds=deadline_s + last_lookup_after_s)


class ObstacleCode(Enum):
    """Why an edition is not reconciled yet. The comment names the parameters."""

    COUNTS_DO_NOT_BALANCE = auto()  # issue
    FORGOTTEN_BY_PROVIDER = auto()
    TOO_EARLY = auto()  # at
    SEARCH_LAGS = auto()
    SEARCH_INCOMPLETE = auto()


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why an edition is not reconciled yet; `obstacle_sentences.py` has the words."""

    code: ObstacleCode
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_worth_waiting_for(self) -> bool:
        """Whether a later walk may find it gone."""
        return self.code not in {
            ObstacleCode.COUNTS_DO_NOT_BALANCE,
            ObstacleCode.FORGOTTEN_BY_PROVIDER,
        }


def find_obstacle(
    *,
    was_all_shown: bool,
    shows_later_mail: bool,
    walked_at: datetime,
    reconcilable_at: datetime,
    backup_not_before: datetime,
    coverage: SearchCoverage,
) -> Obstacle | None:
    """Find why a walk that began at `walked_at` does not reconcile an edition, if it does not. What
    the restored record does not know of was accepted after `backup_not_before`."""
    if backup_not_before < coverage.since:
        return Obstacle(ObstacleCode.FORGOTTEN_BY_PROVIDER)
    if walked_at < reconcilable_at:
        return Obstacle(ObstacleCode.TOO_EARLY, {"at": reconcilable_at})
    if not shows_later_mail:
        return Obstacle(ObstacleCode.SEARCH_LAGS)
    if not was_all_shown:
        return Obstacle(ObstacleCode.SEARCH_INCOMPLETE)
    return None
