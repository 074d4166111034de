"""A past issue of another product, as the product's export describes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from django.utils.dateparse import parse_datetime

from delivery.tasks.run_leased_task import TaskRefusedError
from publishing.models import Visibility

# Limits of a letter in an export, in bytes and in characters. Homing's own limit for letters
# applies after the letter is cleaned.
LONGEST_LETTER = 5 * 1024**2
MOST_CHARACTERS = 1_500_000
MOST_ISSUES = 20_000


class Product(StrEnum):
    """The products whose past issues can be moved in."""

    SUBSTACK = "substack"
    GHOST = "ghost"
    BUTTONDOWN = "buttondown"
    HOMING = "homing"


# A function that takes an image's address and returns the new address, width and height, or None if
# the image must be left out.
Take = Callable[[str], tuple[str, int, int] | None]

# The hosts from which images are fetched. Ghost has no host here, because its images are on the
# author's own host. A Homing export contains its images, so Homing has no host here.
PICTURE_HOSTS = {
    Product.SUBSTACK: frozenset(
        {"substackcdn.com", "cdn.substack.com", "substack-post-media.s3.amazonaws.com"}
    ),
    Product.BUTTONDOWN: frozenset({"assets.buttondown.email", "assets.buttondown.com"}),
}


class Skip(StrEnum):
    """Why an issue is not moved in."""

    DRAFT = "draft"
    NOT_PUBLIC = "not_public"
    NOT_AN_ISSUE = "not_an_issue"
    NO_LETTER = "no_letter"
    NO_DATE = "no_date"
    TOO_LONG = "too_long"
    UNREADABLE = "unreadable"


class UnusableExportError(TaskRefusedError):
    """Homing cannot read the export. `code` says why."""


class SkipIssueError(Exception):
    """The issue cannot be moved in, because of a problem with its letter."""

    def __init__(self, reason: Skip) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PastIssue:
    """One issue; `key` is its id at the product, `source` says where its letter is."""

    key: str
    slug: str
    title: str
    subtitle: str = ""
    published_at: datetime | None = None
    skip: Skip | None = None
    source: str = field(default="", repr=False)
    visibility: Visibility = Visibility.PUBLIC
    moved_as: str = ""  # the issue's key in an earlier move, such as “substack 101”

    def refusal(self, now: datetime) -> Skip | None:
        """Return why the issue is not moved in; None if it is moved in."""
        if self.skip is None and self.published_at is None:
            return Skip.NO_DATE
        if self.published_at and self.published_at > now:
            return self.skip or Skip.DRAFT
        return self.skip


def word_of(row: Mapping[str, Any], name: str) -> str:
    """Return a column's value as text for the database; empty if it is no text."""
    value = row.get(name)
    text = value.strip() if isinstance(value, str) else ""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def parse_date(text: object) -> datetime | None:
    """Parse a date of an export; None if it is no date.

    A date without a zone is in UTC.
    """
    found: datetime | None
    try:
        if isinstance(text, int) and not isinstance(text, bool):
            found = datetime.fromtimestamp(text / 1000, UTC)
        else:
            found = parse_datetime(str(text or "").strip())
    except (ValueError, OverflowError, OSError):
        return None
    if found is None:
        return None
    aware = found if found.tzinfo else found.replace(tzinfo=UTC)
    return aware if aware.year > 1970 else None  # a conversion to UTC overflows near year 1
