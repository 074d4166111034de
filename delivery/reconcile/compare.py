"""
What the provider's record of an edition means beside our own.

Pure decisions: what is found is compared with what is recorded, and silence is weighed. The
reasons: docs/decisions/0012-a-restored-backup.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from delivery.rules.call_results import Listed

# --- What was found -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordedDelivery:
    """What our row says about one delivery: its outcome, and the provider's id if it has one."""

    outcome: str
    message_id: str | None

    def is_this(self, listed: Listed) -> bool:
        """Whether it is recorded as sent, and as this very message."""
        return self.outcome == "sent" and self.message_id == listed.message_id


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    A page of the provider's record beside ours.

    `same` are recipients whose delivery is recorded as this message. `news` are messages of which
    we have no record, or another one. `strangers` name a recipient who has no delivery.
    """

    same: Sequence[int]
    news: Sequence[tuple[int, Listed]]
    strangers: Sequence[tuple[int, Listed]]


def compare(
    found: Sequence[tuple[int, Listed]], recorded: Mapping[int, RecordedDelivery]
) -> Comparison:
    """Compare what the provider shows, as pairs of recipient and message, with what is recorded."""
    same: list[int] = []
    news: list[tuple[int, Listed]] = []
    strangers: list[tuple[int, Listed]] = []
    for recipient, listed in found:
        row = recorded.get(recipient)
        if row is None:
            strangers.append((recipient, listed))
        elif row.is_this(listed):
            same.append(recipient)
        else:
            news.append((recipient, listed))
    return Comparison(same, news, strangers)


# --- What was not found ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchCoverage:
    """
    From when to when it says something that the provider does not show a message.

    Mail that was accepted before `since` is forgotten there by now. Mail accepted after `until` may
    not be in its index yet. `shows_later_mail` is false where the search does not show what was
    accepted last on the stream, at `last_accepted_at`: then it lags, or it is the search of another
    server, and silence about anything from before that says nothing, unless the search showed
    something newer (`newest_shown_at`).
    """

    since: datetime
    until: datetime
    shows_later_mail: bool
    last_accepted_at: datetime | None = None
    newest_shown_at: datetime | None = None

    def counts_for(self, sent_at: datetime) -> bool:
        """Whether it means something that a message accepted at `sent_at` is not shown."""
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
    """The silence of a walk that began at `now`, a reading of the database's clock."""
    return SearchCoverage(
        # A day less than it keeps: its days are not ours.
        since=now - timedelta(days=retention_days - 1),
        until=now - timedelta(seconds=last_lookup_after_s),
        shows_later_mail=shows_later_mail,
        last_accepted_at=last_accepted_at,
        newest_shown_at=newest_shown_at,
    )


def reconcilable_at(
    unreconciled_since: datetime, *, deadline_s: float, last_lookup_after_s: float
) -> datetime:
    """
    When silence about an edition of a restored database begins to count.

    A call that was in the air when that was noticed ends within its deadline; what it brought is in
    the provider's index by the last look-up after that, or later than anybody waits for.
    """
    return unreconciled_since + timedelta(seconds=deadline_s + last_lookup_after_s)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why an edition is not reconciled yet, and whether waiting may help."""

    sentence: str
    is_worth_waiting_for: bool


def unbalanced(issue: UUID) -> Obstacle:
    """What stands in the way where the rows of an edition and its counts contradict each other."""
    return Obstacle(
        "The books do not balance, so what Postmark shows could not be recorded. Run "
        f"`./homing audit {issue}`, and reconcile again once they do.",
        is_worth_waiting_for=False,
    )


def find_obstacle(
    *,
    was_all_shown: bool,
    shows_later_mail: bool,
    walked_at: datetime,
    reconcilable_at: datetime,
    backup_not_before: datetime,
    silence: SearchCoverage,
) -> Obstacle | None:
    """
    Why an edition cannot be called reconciled by a walk that began at `walked_at`, if it cannot.

    `backup_not_before` is the latest moment that the restored record itself proves: whatever it
    does not know of was accepted after that.
    """
    if backup_not_before < silence.since:
        return Obstacle(
            "Mail may have gone out so long ago that Postmark has forgotten it "
            "(POSTMARK_RETENTION_DAYS): nobody can tell any more who got a copy. Cancel the "
            "edition.",
            is_worth_waiting_for=False,
        )
    if walked_at < reconcilable_at:
        return Obstacle(
            "Postmark's silence about copies that may have gone out does not count before "
            f"{reconcilable_at:%Y-%m-%d %H:%M:%S} UTC.",
            is_worth_waiting_for=True,
        )
    if not shows_later_mail:
        return Obstacle(
            "Postmark's search does not show mail that is recorded as accepted: it lags, or "
            "POSTMARK_SERVER_TOKEN belongs to another server.",
            is_worth_waiting_for=True,
        )
    if not was_all_shown:
        return Obstacle(
            "Postmark's search did not show all that it says it has. Run the command again; if "
            "that does not help, cancel the edition.",
            is_worth_waiting_for=True,
        )
    return None
