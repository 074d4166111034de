"""Read the status of an edition with one query, so that its counts add up."""

import math
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from delivery.models import Edition, Newsletter
from delivery.reports.edition_sentences import STATE_WORDS, audience_of
from delivery.reports.load_edition_counts import load_counts, load_counts_of_versions
from delivery.reports.waiting_sentence import waiting_sentence
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState, state_of

# Long columns. Lists do not show these columns, so queries for lists do not load them.
LARGE_COLUMNS = ("html_content", "text_content", "html_mail", "text_mail", "content_hash")


class NoSuchEditionError(LookupError):
    """The issue or the version does not exist."""


@dataclass(frozen=True, slots=True)
class EditionStatus:
    """The counts and the state of one edition."""

    counts: EditionCounts
    state: EditionState

    @property
    def held_until(self) -> datetime | None:
        """The end of the hold; None if the edition is not held."""
        return self.counts.held_until if self.state is EditionState.HELD else None

    def reason(self, zone: tzinfo = UTC) -> str:
        """Return a sentence that says what the edition waits for, with times in this zone."""
        return waiting_sentence(self.counts, zone)

    @property
    def words(self) -> str:
        """The label of the state; “called back” for an edition that was called back."""
        if self.counts.is_called_back:
            return _("called back")
        return self.state_words

    @property
    def state_words(self) -> str:
        """The label of the state; “cancelled” also for an edition that was called back."""
        return str(STATE_WORDS[self.state])

    @property
    def whom(self) -> str:
        """The audience in words."""
        return audience_of(self.counts)

    @property
    def taken_back(self) -> str:
        """Either “called back” or “cancelled”; empty if the edition did not end early."""
        return self.words if self.state is EditionState.CANCELLED else ""

    def as_json(self) -> dict[str, Any]:
        """Return the keys and values that `./homing issue_status` prints."""
        counts = self.counts
        names = ("audience", "sent", "suppressed", "withdrawn", "failed", "unknown", "waiting")
        return {
            "issue": str(counts.issue),
            "version": counts.version,
            "state": self.state.value,
            **{name: getattr(counts, name) for name in names},
            "reason": self.reason(),
        }

    def progress_json(self) -> dict[str, Any]:
        """Return `as_json` and also `rate` (copies a second), `eta_s` and `balanced`."""
        return {
            **self.as_json(),
            "rate": round(self.counts.rate_per_s, 1),
            "eta_s": self.eta_s,
            "balanced": self.counts.balanced,
        }

    @property
    def eta_s(self) -> int | None:
        """The number of seconds until the last waiting copy is sent, at the current rate.

        The value is None if the edition is not being sent or the rate is unknown.
        """
        if self.state is not EditionState.SENDING or self.counts.rate_per_s <= 0:
            return None
        if self.counts.unknown and not self.counts.waiting:
            return None
        return math.ceil(self.counts.waiting / self.counts.rate_per_s)


def load_edition(issue: uuid.UUID, version: int | None = None) -> Edition:
    """Return the edition with this version, by default the newest edition.

    Raises `NoSuchEditionError`.
    """
    editions = Edition.objects.filter(issue_id=issue).defer(*LARGE_COLUMNS)
    if version is not None:
        editions = editions.filter(version=version)
    edition = editions.order_by("-version").first()
    if edition is None:
        raise _no_such_edition(issue, version)
    return edition


def load_statuses_by_name(
    issue: uuid.UUID, version: int | None = None
) -> tuple[EditionStatus, list[EditionStatus]]:
    """Return the status of one version (by default the newest) and of all versions.

    In the list of all versions, the newest is first. Raises `NoSuchEditionError`.
    """
    found = [status_from_counts(counts) for counts in load_counts_of_versions(issue, version)]
    for status in found:
        if version in {None, status.counts.version}:
            return status, found
    raise _no_such_edition(issue, version)


def _no_such_edition(issue: uuid.UUID, version: int | None) -> NoSuchEditionError:
    if version is None:
        return NoSuchEditionError(_("There is no issue {issue}.").format(issue=issue))
    text = _("There is no version {version} of issue {issue}.")
    return NoSuchEditionError(text.format(version=version, issue=issue))


def load_status(edition: int) -> EditionStatus:
    """Return the status of one edition. Raises `LookupError` for an unknown edition."""
    return status_from_counts(load_counts(edition))


def status_from_counts(counts: EditionCounts) -> EditionStatus:
    """Return the status that follows from these counts."""
    return EditionStatus(counts, state_of(counts))


def since_when(dropped_at: datetime) -> str:
    """Return the day of a time in the newsletter's time zone, as pages write it."""
    return date_format(dropped_at.astimezone(Newsletter.objects.get_current().zone), _("j F Y"))


def dropped_sentence(dropped_at: datetime | None) -> str:
    """Return a sentence that the copies were deleted; empty while they exist."""
    if dropped_at is None:
        return ""
    return _(
        "The copies were deleted on {date}, so their readers are no longer listed. The counts and "
        "the receipt are kept."
    ).format(date=since_when(dropped_at))
