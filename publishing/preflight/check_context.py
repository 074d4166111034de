"""The context that all checks read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from delivery.mail.html_and_text import MailParts
from delivery.models import Newsletter
from delivery.reader_fields import ReaderField
from publishing.content.edition_content import Content, ContentProblem, find_problems
from publishing.external_checks.cached_results import CachedResults
from publishing.preflight.parse_letter import ParsedLetter, Passage, TextLocation, parse_text


@dataclass(frozen=True, kw_only=True)
class CheckContext:
    """The content to check, its mail, and facts about readers, issues and workers."""

    content: Content
    letter: ParsedLetter
    is_markdown: bool
    has_own_text: bool
    mail: MailParts

    newsletter: Newsletter
    now: datetime
    site_url: str
    sender: str
    adds_unsubscribe_link: bool

    external: CachedResults
    readers: int
    archive_note: str
    # For each merge field: how many readers have no value.
    without_value: Mapping[str, int]
    own_fields: Sequence[ReaderField] = ()
    # For each merge field and pattern: how many readers have a value that does not match, and how
    # many have no value.
    unfit_values: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    is_mailed: bool = True
    # Whether the current welcome letter has this draft's title.
    is_welcome_letter: bool = False
    # Parameters for the sentences of findings about other issues.
    recent_duplicates: Sequence[Mapping[str, Any]] = ()
    other_issues: Sequence[Mapping[str, Any]] = ()
    overlap_warnings: tuple[str, ...] = ()
    # The address that the newest test letter went to, and when the letter was sent.
    test: tuple[str, datetime] | None = None
    worker_is_running: bool = True
    worker_seen_at: datetime | None = None

    @cached_property
    def problems(self) -> list[ContentProblem]:
        """The reasons why the form refuses the content."""
        return find_problems(self.content, self.own_fields)

    @cached_property
    def passages(self) -> list[Passage]:
        """The texts that readers see, title first.

        Leaves out a plain text that Homing made.
        """
        passages = [Passage(TextLocation("title"), self.content.title)]
        passages.append(Passage(TextLocation("preview_text"), self.content.preview_text))
        passages.extend(self.letter.passages)
        if self.has_own_text or not self.content.html.strip():
            passages.extend(parse_text(self.content.text))
        return passages

    def clock(self, at: datetime) -> str:
        """Write a time in the newsletter's zone, with the date if it is not today's."""
        zone = self.newsletter.zone
        there = at.astimezone(zone)
        today = there.date() == self.now.astimezone(zone).date()
        return f"{there:%H:%M}" if today else date_format(there, _("j F Y, H:i"))
