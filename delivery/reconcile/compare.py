"""Decides what the provider's record means beside ours
(docs/decisions/0012-a-restored-backup.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple
from uuid import UUID

from delivery.rules.call_results import FoundMessage

# What our row says about one delivery: its outcome, and the provider's id.
RecordedDelivery = tuple[str, str | None]


class Comparison(NamedTuple):
    """A page of the provider's record beside ours: recipients recorded with this message, messages
    that we have not recorded so, and messages to recipients without a delivery."""

    same: Sequence[int]
    news: Sequence[tuple[int, FoundMessage]]
    without_delivery: Sequence[tuple[int, FoundMessage]]


def compare(
    found: Sequence[tuple[int, FoundMessage]], recorded: Mapping[int, RecordedDelivery]
) -> Comparison:
    """Compare what the provider shows, as pairs of recipient and message, with our record."""
    same: list[int] = []
    news: list[tuple[int, FoundMessage]] = []
    without_delivery: list[tuple[int, FoundMessage]] = []
    for recipient, listed in found:
        row = recorded.get(recipient)
        if row is None:
            without_delivery.append((recipient, listed))
        elif row == ("sent", listed.message_id):
            same.append(recipient)
        else:
            news.append((recipient, listed))
    return Comparison(same, news, without_delivery)


@dataclass(frozen=True, slots=True)
class SearchCoverage:
    """Which mail the provider's search would show on a walk that began at `walked_at`, by the
    database's clock: accepted after `since`, or it is forgotten, and before `until`, or it may not
    be indexed. If the search does not show the mail accepted last (`shows_later_mail` is false), it
    covers only what is older than the newest it did show."""

    walked_at: datetime
    last_lookup_after_s: float
    retention_days: int
    shows_later_mail: bool
    last_accepted_at: datetime | None
    newest_shown_at: datetime | None

    @property
    def since(self) -> datetime:
        # One day less than the provider keeps: its days are not ours.
        return self.walked_at - timedelta(days=self.retention_days - 1)

    @property
    def until(self) -> datetime:
        return self.walked_at - timedelta(seconds=self.last_lookup_after_s)

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


def reconcilable_at(
    unreconciled_since: datetime, *, deadline_s: float, last_lookup_after_s: float
) -> datetime:
    """The earliest time to reconcile an edition: calls have ended, and the index shows them."""
    return unreconciled_since + timedelta(seconds=deadline_s + last_lookup_after_s)


class Obstacle(Enum):
    """What keeps an edition from being reconciled, and what to do."""

    COUNTS_DO_NOT_BALANCE = (
        "The counts do not balance, so what Postmark shows could not be recorded. Run "
        "`./homing audit {issue}`, and reconcile again once they do."
    )
    FORGOTTEN_BY_PROVIDER = (
        "Mail may have gone out so long ago that Postmark has forgotten it "
        "(POSTMARK_RETENTION_DAYS), so nobody can tell who got it. Cancel the edition."
    )
    TOO_EARLY = (
        "Postmark's search may not show mail that has just gone out. It counts from "
        "{at:%Y-%m-%d %H:%M:%S} UTC on."
    )
    SEARCH_LAGS = (
        "Postmark's search does not show mail that is recorded as accepted: it lags, or "
        "POSTMARK_SERVER_TOKEN belongs to another server."
    )
    SEARCH_INCOMPLETE = (
        "Postmark's search did not show all that it says it has. Run the command again; if that "
        "does not help, cancel the edition."
    )

    def sentence(self, issue: UUID, reconcilable_at: datetime) -> str:
        """The words for an edition of this issue."""
        return self.value.format(issue=issue, at=reconcilable_at)

    @property
    def is_worth_waiting_for(self) -> bool:
        """Whether a later walk may find it gone."""
        return self not in {Obstacle.COUNTS_DO_NOT_BALANCE, Obstacle.FORGOTTEN_BY_PROVIDER}


def find_obstacle(
    coverage: SearchCoverage,
    *,
    was_all_shown: bool,
    reconcilable_at: datetime,
    backup_not_before: datetime,
) -> Obstacle | None:
    """Find why a walk of this coverage does not reconcile an edition, if it does not. What the
    restored record does not know of was accepted after `backup_not_before`."""
    if backup_not_before < coverage.since:
        return Obstacle.FORGOTTEN_BY_PROVIDER
    if coverage.walked_at < reconcilable_at:
        return Obstacle.TOO_EARLY
    if not coverage.shows_later_mail:
        return Obstacle.SEARCH_LAGS
    return None if was_all_shown else Obstacle.SEARCH_INCOMPLETE
