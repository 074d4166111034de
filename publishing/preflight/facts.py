"""All that the checks look at, as one value."""

from __future__ import annotations

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
    """An edition of another issue that went out, goes out or, `is_scheduled`, waits until `at`."""

    issue: str
    title: str
    at: datetime
    has_the_same_words: bool = False
    waiting: int = 0
    is_scheduled: bool = False


@dataclass(frozen=True, slots=True)
class SentTestLetter:
    """A test letter: to which address, and when."""

    __test__ = False

    address: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """
    The words, the mail that is made of them, and the world that it goes out into.

    `letter` is what was found in the HTML of `content`, read once for all checks.
    `own_text` says that the text part is the author's own and not made from the letter;
    `is_named`, that the newsletter has a name of its own. `domain` is None, and a link is not in
    `links`, as long as nobody looked.
    """

    content: Content
    letter: ParsedLetter
    is_markdown: bool
    own_text: bool
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
    would_stand: str
    # Readers without a value, by merge field that is used without a fallback.
    without_value: Mapping[str, int]

    is_mailed: bool = True
    recent_duplicates: tuple[OtherEdition, ...] = ()
    going: tuple[OtherEdition, ...] = ()
    earlier_versions_going: tuple[str, ...] = ()
    test: SentTestLetter | None = None
    worker_is_running: bool = True
    worker_seen_at: datetime | None = None

    domain: DomainRecords | None = None
    domain_checked_at: datetime | None = None
    links: Mapping[str, LinkResult] = field(default_factory=dict)
    links_checked_at: datetime | None = None

    @property
    def sender_domain(self) -> str:
        """The domain in whose name the mail goes out."""
        return domain_of(self.sender)

    def clock(self, at: datetime) -> str:
        """A time of today as such, any other with its day, in the newsletter's zone."""
        there = at.astimezone(self.zone)
        today = there.date() == self.now.astimezone(self.zone).date()
        return f"{there:%H:%M}" if today else f"{there.day} {there:%B %Y, %H:%M}"
