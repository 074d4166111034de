"""The context that all checks read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from publishing.content.edition_content import Content
from publishing.external_checks.domain_records import DomainRecords, domain_of
from publishing.external_checks.link_result import LinkResult
from publishing.preflight.parse_letter import ParsedLetter


@dataclass(frozen=True, slots=True)
class OtherEdition:
    """An edition of another issue: published at `at`, or scheduled for it."""

    issue: str
    title: str
    at: datetime
    has_the_same_words: bool = False
    waiting: int = 0
    is_scheduled: bool = False


@dataclass(frozen=True, slots=True)
class SentTestLetter:
    """A test letter that was sent."""

    __test__ = False

    address: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """The content, its mail and context; `domain` and links only with a fresh result."""

    content: Content
    letter: ParsedLetter
    is_markdown: bool
    has_own_text: bool
    html_mail: str
    text_mail: str

    zone: ZoneInfo
    now: datetime
    site_url: str
    sender: str
    newsletter: str
    is_named: bool
    language: str
    postal_address: str
    adds_unsubscribe_link: bool

    readers: int
    archive_note: str
    # Readers without a value, by merge field without a fallback.
    without_value: Mapping[str, int]

    is_mailed: bool = True
    recent_duplicates: tuple[OtherEdition, ...] = ()
    other_issues: tuple[OtherEdition, ...] = ()
    overlap_warnings: tuple[str, ...] = ()
    test: SentTestLetter | None = None
    worker_is_running: bool = True
    worker_seen_at: datetime | None = None

    domain: DomainRecords | None = None
    domain_checked_at: datetime | None = None
    links: Mapping[str, LinkResult] = field(default_factory=dict)
    links_checked_at: datetime | None = None

    @property
    def sender_domain(self) -> str:
        """The domain of the sender's address."""
        return domain_of(self.sender)

    def clock(self, at: datetime) -> str:
        """A time in the newsletter's zone, with its day unless that is today."""
        there = at.astimezone(self.zone)
        today = there.date() == self.now.astimezone(self.zone).date()
        return f"{there:%H:%M}" if today else f"{there.day} {there:%B %Y, %H:%M}"
