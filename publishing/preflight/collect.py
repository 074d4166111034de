"""Collect the context of a draft, and run all checks on it."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import BooleanField, Count, ExpressionWrapper, Q
from django.utils.translation import gettext as _

from delivery.models import Delivery, Edition, Newsletter
from delivery.reports.edition_counts import load_all_counts, load_open_newsletters
from delivery.reports.health import read_health
from publishing.approval import approval
from publishing.content.compose_content import compose_content
from publishing.content.edition_content import Content, plain_title, write_fallbacks
from publishing.editions import versions
from publishing.editions.audience import EVERY_READER, EVERYONE, NOBODY, TagChoice
from publishing.editions.confirmed_then import mailed_issues
from publishing.editions.issue_address import AddressTakenError, plan_address
from publishing.editions.listing import (
    archive_sentence,
    content_of,
    has_been_public,
    page_refusal,
    visibility_of_draft,
)
from publishing.editions.posted_tags import choice_of
from publishing.editions.sending_time import time_to_send
from publishing.editions.status import since_when
from publishing.editions.tag_sentences import DELETED_TAG
from publishing.editions.versions import VersionPlan, plan_version, readers_now
from publishing.editions.welcome_letter import has_title_of_welcome_letter
from publishing.external_checks import cached_results
from publishing.external_checks.cached_results import CachedResults
from publishing.external_checks.domain_records import domain_of
from publishing.models import Draft, Visibility
from publishing.preflight.check_context import CheckContext
from publishing.preflight.composed_mail import check_composed_mail
from publishing.preflight.estimates import readers_change
from publishing.preflight.finding import Finding, Findings, FixIn, Severity, advice, stop
from publishing.preflight.finding_sentences import refuse
from publishing.preflight.images import check_images
from publishing.preflight.link_address import is_placeholder
from publishing.preflight.links import check_links, fields_to_match, links_to_open
from publishing.preflight.parse_letter import ParsedLetter
from publishing.preflight.readiness import check_readiness
from publishing.preflight.sender import check_sender
from publishing.preflight.words import check_words, fields_to_count
from subscribers.confirmed_readers import confirmed, count_unfit_values, count_without_value
from subscribers.consent.consent_log import count_acts_since
from subscribers.fields.reader_fields import load_own_fields
from subscribers.models import Subscriber

_DUPLICATES_WITHIN = timedelta(days=7)
_CHECKS = (
    check_words,
    check_readiness,
    check_images,
    check_links,
    check_composed_mail,
    check_sender,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightResult:
    """A checked draft; `plan` is None for a new issue."""

    draft: Draft
    context: CheckContext
    findings: Findings
    plan: VersionPlan | None
    version: int
    visibility: Visibility
    is_public: bool  # an earlier version is
    not_reached: int
    change: str
    pending: int
    gone: int
    duration: str
    is_externally_checked: bool
    tags: TagChoice

    @property
    def earlier_title(self) -> str:
        """The title of the version before, as pages show it."""
        return plain_title(self.plan.newest) if self.plan and self.plan.newest else ""

    @property
    def has_tags(self) -> bool:
        """Whether tags limit the readers."""
        return self.tags != EVERY_READER

    @property
    def not_included(self) -> int:
        """The readers who get no copy.

        If the issue does not go to everyone, only confirmed readers count.
        """
        if self.draft.goes_to == EVERYONE and not self.has_tags:
            return self.pending + self.gone
        return self.not_reached

    @property
    def is_page_correction(self) -> bool:
        """Whether only the page of an issue that readers got is corrected."""
        is_correction = self.plan is not None and self.plan.is_correction
        return is_correction and self.draft.goes_to == NOBODY

    @property
    def archive_reason(self) -> str:
        """Why the issue is unlisted without a choice of the author; or empty."""
        is_default = not self.draft.fields.archive and self.visibility is Visibility.UNLISTED
        if not (is_default and self.has_tags) or self.is_public:
            return ""
        return _("It is unlisted because tags limit its readers.")

    @property
    def is_welcome_letter(self) -> bool:
        """Whether the welcome letter that is on has this title."""
        return any(one.code == "is_welcome_letter" for one in self.findings[Severity.ADVICE])

    @property
    def refusal(self) -> str:
        """The reason why it may not be published; empty if it may."""
        return refuse(self.findings, self.context.clock)


def external_targets(letter: ParsedLetter) -> tuple[str, list[str]]:
    """Return the domain (or an empty string) and the links to check externally."""
    domain = domain_of(Newsletter.objects.get_current().sender)
    links = links_to_open(letter, settings.SITE_URL)
    return ("" if is_placeholder(domain) else domain), links


def check(draft: Draft, publisher: uuid.UUID) -> PreflightResult:
    """Check a draft for this publisher. Reads only."""
    visibility = visibility_of_draft(draft)
    content = content_of(draft)
    tags = choice_of(draft.with_tags, draft.without_tags)
    plan = plan_version(draft.issue_id, tags=tags) if draft.issue_id else None
    everyone = confirmed().count()
    readers = readers_now(draft.goes_to, tags, plan)
    letter = ParsedLetter(content.html)
    domain, links = external_targets(letter)
    external = cached_results.load_fresh(domain, links)
    context = _context(draft, content, letter, plan, readers, external, tags, visibility)
    states = dict(Subscriber.objects.order_by().values_list("state").annotate(Count("id")))
    pending = states.get(Subscriber.State.PENDING, 0)
    return PreflightResult(
        draft=draft,
        context=context,
        findings=run_checks(context, *_rules(draft, content, plan, publisher, tags, visibility)),
        plan=plan,
        version=plan.version if plan else 1,
        visibility=visibility,
        is_public=has_been_public(draft.issue_id),
        not_reached=everyone - readers,
        change=_readers_change(states.get(Subscriber.State.CONFIRMED, 0))
        if readers == everyone
        else "",
        pending=pending,
        gone=sum(states.values()) - pending - everyone,
        duration=time_to_send(readers),
        is_externally_checked=bool(external.domain or not domain)
        and all(url in external.links for url in links),
        tags=tags,
    )


def run_checks(context: CheckContext, *more: Finding) -> Findings:
    """Run all checks; `more` are findings that need no check."""
    found = [*(finding for check in _CHECKS for finding in check(context)), *more]
    return {severity: [one for one in found if one.severity is severity] for severity in Severity}


def _rules(
    draft: Draft,
    content: Content,
    plan: VersionPlan | None,
    publisher: uuid.UUID,
    tags: TagChoice,
    visibility: Visibility,
) -> list[Finding]:
    found = []
    version = plan.version if plan else None
    if refusal := versions.version_refusal(draft.issue_id, version, draft.goes_to):
        fix_in = FixIn.PROGRESS if plan else FixIn.NOWHERE
        found.append(stop("version_refused", fix_in, sentence=refusal))
    if tags.has_deleted:
        found.append(stop("version_refused", sentence=str(DELETED_TAG)))
    if refusal := page_refusal(visibility, draft.goes_to):
        found.append(stop("version_refused", sentence=refusal))
    if has_title_of_welcome_letter(content.title):
        found.append(advice("is_welcome_letter"))
    address = plan_address(draft, content.plain_title)
    if address.is_chosen and address.is_taken:
        found.append(stop("version_refused", sentence=str(AddressTakenError(address.words))))
    if awaits := approval.approval_refusal(draft, publisher, content):
        found.append(stop("needs_approval", sentence=awaits))
    return found


def _context(
    draft: Draft,
    content: Content,
    letter: ParsedLetter,
    plan: VersionPlan | None,
    readers: int,
    external: CachedResults,
    tags: TagChoice,
    visibility: Visibility,
) -> CheckContext:
    sending = read_health()
    own = load_own_fields()
    newsletter = Newsletter.objects.get_current()
    fields = fields_to_count(own, content.title, content.preheader, content.html, content.text)
    return CheckContext(
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
        without_value=count_without_value(
            [field.name for field in fields],
            with_tags=tags.with_ids,
            without_tags=tags.without_ids,
        ),
        own_fields=own,
        unfit_values=count_unfit_values(
            dict.fromkeys(
                (one.field, one.part.value) for one in fields_to_match(content, letter, own)
            ),
            with_tags=tags.with_ids,
            without_tags=tags.without_ids,
        ),
        recent_duplicates=_recent_duplicates(draft, write_fallbacks(content, own), sending.now),
        other_issues=_other_issues_sending(draft),
        overlap_warnings=tuple(
            versions.overlap_warnings(plan.newest.issue_id, plan.version, draft.goes_to)
            if plan
            else ()
        ),
        test=_sent_test_letter(content),
        worker_is_running=bool(sending.workers),
        worker_seen_at=sending.heard_at,
        external=external,
    )


def _recent_duplicates(draft: Draft, content: Content, now: datetime) -> list[dict[str, Any]]:
    """Return other issues with this letter or title, including scheduled ones."""
    # A cancelled issue does not count.
    lately = Edition.objects.filter(
        kind=Edition.Kind.NEWSLETTER, published_at__gt=now - _DUPLICATES_WITHIN
    ).exclude(control=Edition.Control.CANCELLED)
    is_same = Q(html_content=content.html, text_content=content.text)
    editions = (
        lately.annotate(has_letter=ExpressionWrapper(is_same, BooleanField()))
        .order_by("-published_at")
        .exclude(issue=draft.issue_id)
    )
    return [
        {
            "issue": str(one.issue_id),
            "same_words": one.has_letter,
            "is_scheduled": one.control == Edition.Control.SCHEDULED,
            "at": one.published_at,
        }
        for one in editions.only("issue", "title", "published_at", "control")
        if one.has_letter or plain_title(one).casefold() == content.plain_title.casefold()
    ]


def _other_issues_sending(draft: Draft) -> list[dict[str, Any]]:
    return [
        {
            "issue": str(counts.issue),
            "title": Content(counts.title, "", "").plain_title,
            "waiting": counts.waiting,
        }
        for counts in load_all_counts(load_open_newsletters())
        if counts.waiting and counts.control == "running" and counts.issue != draft.issue_id
    ]


def _sent_test_letter(content: Content) -> tuple[str, datetime] | None:
    """Return address and time of the newest accepted test of exactly this content."""
    for number, issue in (
        Edition.objects.filter(kind=Edition.Kind.TEST, content_hash=content.sha256)
        .order_by("-pk")
        .values_list("version", "issue_id")[:5]
    ):
        copy = (
            Delivery.objects.filter(issue=issue, version=number, sent_at__isnull=False)
            .values_list("address", "sent_at")
            .first()
        )
        if copy and copy[1]:
            return copy[0], copy[1]
    return None


def _readers_change(now: int) -> str:
    last = mailed_issues().values_list("confirmed_then", "published_at").first()
    if last is None or last[0] is None:
        return ""
    before, at = last
    return readers_change(before, now, count_acts_since(at), date=since_when(at))
