"""Comparison of the provider's record with ours.

See docs/decisions/0012-a-restored-backup.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import NamedTuple
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from delivery.rules.call_results import FoundMessage

# A delivery in our record: its outcome and the provider's id.
RecordedDelivery = tuple[str, str | None]


class Comparison(NamedTuple):
    """One page of the provider's record compared with ours.

    `same`: recipients recorded with this message. `news`: messages that our record lacks.
    `without_delivery`: messages to recipients who have no delivery here.
    """

    same: Sequence[int]
    news: Sequence[tuple[int, FoundMessage]]
    without_delivery: Sequence[tuple[int, FoundMessage]]


def compare(
    found: Sequence[tuple[int, FoundMessage]], recorded: Mapping[int, RecordedDelivery]
) -> Comparison:
    """Compare the provider's pairs of recipient and message with our record."""
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
    """The mail that the provider's search shows on a walk that began at `walked_at`.

    Mail accepted before `since` is no longer kept, and mail accepted after `until` may not be
    indexed yet. If the search does not show the mail accepted last, `shows_later_mail` is false. In
    that case the search covers only mail that is older than the newest mail it shows. Times are by
    the database's clock.
    """

    walked_at: datetime
    last_lookup_after_s: float
    retention_days: int
    shows_later_mail: bool
    last_accepted_at: datetime | None
    newest_shown_at: datetime | None

    @property
    def since(self) -> datetime:
        # One day less than the provider keeps mail, because its days may begin at another hour.
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
        """Whether only a later walk can judge a message accepted at `sent_at`."""
        return sent_at >= self.since and not self.counts_for(sent_at)


def reconcilable_at(
    unreconciled_since: datetime, *, deadline_s: float, last_lookup_after_s: float
) -> datetime:
    """Compute the earliest time at which an edition can be reconciled.

    By then the edition's calls have ended, and the provider's index shows them.
    """
    return unreconciled_since + timedelta(seconds=deadline_s + last_lookup_after_s)


class Obstacle(Enum):
    """The reasons why an edition cannot be reconciled yet."""

    COUNTS_DO_NOT_BALANCE = auto()
    FORGOTTEN_BY_PROVIDER = auto()
    TOO_EARLY = auto()
    SEARCH_LAGS = auto()
    SEARCH_INCOMPLETE = auto()

    def sentence(self, issue: UUID, reconcilable_at: datetime) -> str:
        """Write why an edition of this issue is not reconciled, and what to do."""
        at = f"{reconcilable_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
        return str(_SENTENCES[self]).format(issue=issue, time=at)

    @property
    def is_worth_waiting_for(self) -> bool:
        """Whether this obstacle may be gone at a later walk."""
        return self not in {Obstacle.COUNTS_DO_NOT_BALANCE, Obstacle.FORGOTTEN_BY_PROVIDER}


_SENTENCES: Mapping[Obstacle, Promise] = {
    Obstacle.COUNTS_DO_NOT_BALANCE: _(
        "The counts do not balance, so Postmark's results could not be recorded. Run "
        "`./homing audit {issue}`, and reconcile again once the counts balance."
    ),
    Obstacle.FORGOTTEN_BY_PROVIDER: _(
        "Copies may have been sent so long ago that Postmark no longer has a record of them "
        "(POSTMARK_RETENTION_DAYS). Nobody can know who received them. Cancel the edition."
    ),
    Obstacle.TOO_EARLY: _(
        "Postmark's search may not show the latest mail yet. Its results are reliable from {time} "
        "UTC."
    ),
    Obstacle.SEARCH_LAGS: _(
        "Postmark's search does not show mail that is recorded as accepted. The search lags, or "
        "POSTMARK_SERVER_TOKEN belongs to another server."
    ),
    Obstacle.SEARCH_INCOMPLETE: _(
        "Postmark's search showed fewer messages than it counts. Run the command again. If that "
        "does not help, cancel the edition."
    ),
}


def find_obstacle(
    coverage: SearchCoverage,
    *,
    was_all_shown: bool,
    reconcilable_at: datetime,
    backup_not_before: datetime,
) -> Obstacle | None:
    """Find why a walk of this coverage does not reconcile an edition; None if it does.

    Mail that the restored record lacks was accepted after `backup_not_before`.
    """
    if backup_not_before < coverage.since:
        return Obstacle.FORGOTTEN_BY_PROVIDER
    if coverage.walked_at < reconcilable_at:
        return Obstacle.TOO_EARLY
    if not coverage.shows_later_mail:
        return Obstacle.SEARCH_LAGS
    return None if was_all_shown else Obstacle.SEARCH_INCOMPLETE
