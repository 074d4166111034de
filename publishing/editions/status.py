"""The status of an edition, from one reading of its counts, so that the numbers add up."""

import math
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from django.utils.translation import gettext

from delivery.models import Edition, Newsletter
from delivery.reports.edition_counts import load_counts, load_counts_of_versions
from delivery.reports.edition_words import STATE_WORDS, audience_words
from delivery.reports.waiting_sentence import waiting_sentence
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState, state_of

# Columns that can be long and that no list needs.
LARGE_COLUMNS = ("html_content", "text_content", "html_mail", "text_mail", "content_hash")


class NoSuchEditionError(LookupError):
    """There is no issue, or no edition of it, by that name."""


@dataclass(frozen=True, slots=True)
class EditionStatus:
    """The counts of one edition and what they mean."""

    counts: EditionCounts
    state: EditionState

    @property
    def held_until(self) -> datetime | None:
        """When its hold ends, if it is held."""
        return self.counts.held_until if self.state is EditionState.HELD else None

    def reason(self, zone: tzinfo = UTC) -> str:
        """What the edition waits for, in words; its times are in this zone."""
        return waiting_sentence(self.counts, zone)

    @property
    def words(self) -> str:
        """The state as pages name it. Scripts read “called back” as `cancelled` (SPEC 3.2)."""
        return gettext("called back") if self.counts.is_called_back else self.state_words

    @property
    def state_words(self) -> str:
        """The state in words, where “cancelled” includes “called back”."""
        return str(STATE_WORDS[self.state])

    @property
    def whom(self) -> str:
        """Its audience in words."""
        return audience_words(self.counts.goes_to)

    @property
    def was_done(self) -> str:
        """“published” or, before it has started, “scheduled”."""
        return "published" if self.counts.has_started else "scheduled"

    @property
    def taken_back(self) -> str:
        """“called back”, “cancelled” or nothing."""
        return self.words if self.state is EditionState.CANCELLED else ""

    def as_json(self) -> dict[str, Any]:
        """The keys of `issue_status` (SPEC 3.2)."""
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
        """The same with `rate` (copies per second), `eta_s` (seconds left or null), `balanced`."""
        return {
            **self.as_json(),
            "rate": round(self.counts.rate_per_s, 1),
            "eta_s": self.eta_s,
            "balanced": self.counts.balanced,
        }

    @property
    def eta_s(self) -> int | None:
        """Seconds until the last waiting copy is sent at the present rate; None if unknown."""
        if self.state is not EditionState.SENDING or self.counts.rate_per_s <= 0:
            return None
        if self.counts.unknown and not self.counts.waiting:
            return None
        return math.ceil(self.counts.waiting / self.counts.rate_per_s)


def load_edition(issue: uuid.UUID, version: int | None = None) -> Edition:
    """Return an edition of an issue, the newest unless named. Raises `NoSuchEditionError`."""
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
    """Return the status of that edition and of all, newest first. Raises `NoSuchEditionError`."""
    found = [status_from_counts(counts) for counts in load_counts_of_versions(issue, version)]
    for status in found:
        if version in {None, status.counts.version}:
            return status, found
    raise _no_such_edition(issue, version)


def _no_such_edition(issue: uuid.UUID, version: int | None) -> NoSuchEditionError:
    named = f"issue {issue}" if version is None else f"version {version} of issue {issue}"
    return NoSuchEditionError(f"There is no {named}.")


def load_status(edition: int) -> EditionStatus:
    """Return the status of one edition. Raises `LookupError` if there is none."""
    return status_from_counts(load_counts(edition))


def status_from_counts(counts: EditionCounts) -> EditionStatus:
    """Return the status that these counts mean."""
    return EditionStatus(counts, state_of(counts))


def since_when(dropped_at: datetime) -> str:
    """Return the day on which the copies were dropped, as pages write it."""
    there = dropped_at.astimezone(Newsletter.objects.get_current().zone)
    return f"{there.day} {there:%B %Y}"


def dropped_sentence(dropped_at: datetime | None) -> str:
    """Return the sentence in the place of dropped copies; empty while the copies are there."""
    if dropped_at is None:
        return ""
    return (
        f"Who its copies went to is not kept any more: they were dropped on "
        f"{since_when(dropped_at)}. Its counts and its receipt stay."
    )
