"""Check a draft: collect all findings, and find out what publishing would do."""

import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Count
from django.utils.translation import gettext as _

from delivery.models import Newsletter
from delivery.reports.sending_health import read_health
from publishing.content.compose_content import compose_content
from publishing.content.edition_content import plain_title
from publishing.editions.archive_visibility import (
    archive_sentence,
    content_of,
    has_been_public,
    visibility_of_draft,
)
from publishing.editions.audience import EVERY_READER, EVERYONE, NOBODY, TagChoice, choice_of
from publishing.editions.sending_time import time_to_send
from publishing.editions.versions import (
    VersionPlan,
    overlap_warnings,
    plan_version,
    readers_now,
)
from publishing.editions.welcome_letter import has_title_of_welcome_letter
from publishing.external_checks.cached_results import load_fresh
from publishing.external_checks.domain_records import domain_of
from publishing.models import Draft, Visibility
from publishing.preflight.check_context import CheckContext
from publishing.preflight.checks.letter.dead_links import links_to_open
from publishing.preflight.checks.letter.empty_merge_fields import load_readers_without_value
from publishing.preflight.checks.letter.values_in_links import load_unfit_values
from publishing.preflight.checks.publication.missing_test_letter import load_sent_test
from publishing.preflight.checks.publication.other_issue_sending import load_other_issues
from publishing.preflight.checks.publication.published_before import load_duplicates
from publishing.preflight.checks.publication.refused_version import find_refusals
from publishing.preflight.finding import Findings, refuse
from publishing.preflight.link_address import is_placeholder
from publishing.preflight.list_of_checks import run_checks
from publishing.preflight.parse_letter import ParsedLetter
from publishing.preflight.readers_change import describe_change_to
from subscribers.confirmed_readers import confirmed
from subscribers.fields.own_fields import load_own_fields
from subscribers.models import Subscriber


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightResult:
    """A checked draft; `plan` is None for a new issue."""

    draft: Draft
    context: CheckContext
    findings: Findings
    plan: VersionPlan | None
    version: int
    visibility: Visibility
    is_public: bool  # whether an earlier version is public
    not_reached: int
    change: str
    pending: int
    gone: int
    duration: str
    is_externally_checked: bool
    tags: TagChoice

    @property
    def earlier_title(self) -> str:
        """The title of the issue's newest version, as pages show it."""
        return plain_title(self.plan.newest) if self.plan else ""

    @property
    def has_tags(self) -> bool:
        """Whether tags limit which readers get the issue."""
        return self.tags != EVERY_READER

    @property
    def not_included(self) -> int:
        """The number of readers who get no copy.

        If the issue does not go to everyone, only confirmed readers are counted.
        """
        if self.draft.goes_to == EVERYONE and not self.has_tags:
            return self.pending + self.gone
        return self.not_reached

    @property
    def is_page_correction(self) -> bool:
        """Whether the draft corrects only the page of an issue that was already mailed."""
        is_correction = self.plan is not None and self.plan.is_correction
        return is_correction and self.draft.goes_to == NOBODY

    @property
    def archive_reason(self) -> str:
        """Why the issue is unlisted if the author did not choose this; otherwise empty."""
        is_default = not self.draft.fields.archive and self.visibility is Visibility.UNLISTED
        if not (is_default and self.has_tags) or self.is_public:
            return ""
        return _("It is unlisted because tags limit its readers.")

    @property
    def refusal(self) -> str:
        """Why the draft may not be published; empty if it may be published."""
        return refuse(self.findings)


def external_targets(letter: ParsedLetter) -> tuple[str, list[str]]:
    """Return the sender's domain (or an empty string) and the links to be checked."""
    domain = domain_of(Newsletter.objects.get_current().sender)
    links = links_to_open(letter, settings.SITE_URL)
    return ("" if is_placeholder(domain) else domain), links


def check(draft: Draft, publisher: uuid.UUID) -> PreflightResult:
    """Check a draft as `publisher` would publish it; change nothing."""
    visibility = visibility_of_draft(draft)
    content, own = content_of(draft), load_own_fields()
    tags = choice_of(draft.with_tags, draft.without_tags)
    plan = plan_version(draft.issue_id, tags=tags) if draft.issue_id else None
    everyone = confirmed().count()
    readers = readers_now(draft.goes_to, tags, plan)
    letter = ParsedLetter(content.html)
    domain, links = external_targets(letter)
    external = load_fresh(domain, links)
    sending = read_health()
    newsletter = Newsletter.objects.get_current()
    context = CheckContext(
        content=content,
        letter=letter,
        is_markdown=draft.format == Draft.Format.MARKDOWN,
        has_own_text=bool(draft.text.strip()),
        mail=compose_content(content),
        newsletter=newsletter,
        now=sending.now,
        site_url=settings.SITE_URL,
        sender=newsletter.sender,
        adds_unsubscribe_link=settings.UNSUBSCRIBE_HANDLING == "own",
        readers=readers,
        is_mailed=draft.goes_to != NOBODY,
        archive_note=archive_sentence(visibility),
        without_value=load_readers_without_value(content, own, tags),
        own_fields=own,
        unfit_values=load_unfit_values(content, letter, own, tags),
        recent_duplicates=load_duplicates(draft.issue_id, content, own, sending.now),
        other_issues=load_other_issues(draft),
        overlap_warnings=tuple(
            overlap_warnings(plan.newest.issue_id, plan.version, draft.goes_to) if plan else ()
        ),
        is_welcome_letter=has_title_of_welcome_letter(content.title),
        test=load_sent_test(content),
        worker_is_running=bool(sending.workers),
        worker_seen_at=sending.heard_at,
        external=external,
    )
    refusals = find_refusals(draft, content, plan, tags, visibility=visibility, publisher=publisher)
    states = dict(Subscriber.objects.order_by().values_list("state").annotate(Count("id")))
    pending = states.get(Subscriber.State.PENDING, 0)
    return PreflightResult(
        draft=draft,
        context=context,
        findings=run_checks(context, refusals),
        plan=plan,
        version=plan.version if plan else 1,
        visibility=visibility,
        is_public=has_been_public(draft.issue_id),
        not_reached=everyone - readers,
        change=describe_change_to(states.get(Subscriber.State.CONFIRMED, 0))
        if readers == everyone
        else "",
        pending=pending,
        gone=sum(states.values()) - pending - everyone,
        duration=time_to_send(readers),
        is_externally_checked=bool(external.domain or not domain)
        and all(url in external.links for url in links),
        tags=tags,
    )
