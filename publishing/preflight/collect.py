"""Gathers the facts about a draft: its words, who would get it, and what else is going on."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db.models import Count, Max, Min, Sum

from delivery.mail.compose import compose
from delivery.models import Attempt, Delivery, Edition, Newsletter
from delivery.reports.active_editions import load_open_newsletters
from delivery.reports.edition_counts import load_all_counts
from delivery.reports.read_health import read_health
from publishing.approval import approval
from publishing.content.draft_content import build_content
from publishing.content.edition_content import Content
from publishing.drafts.drafts import content_of_draft
from publishing.editions import versions
from publishing.editions.listing import archive_sentence
from publishing.editions.versions import EVERYONE, NOBODY, VersionPlan, plan_version
from publishing.external_checks import cached_results
from publishing.external_checks.cached_results import Looked
from publishing.external_checks.domain_records import domain_of
from publishing.models import Draft
from publishing.preflight.estimates import Since, Went, change_of_readers, takes
from publishing.preflight.facts import Facts, Published, TestSent
from publishing.preflight.finding import Finding, Where, stop
from publishing.preflight.link_address import is_for_examples
from publishing.preflight.links import to_be_opened
from publishing.preflight.parse_letter import Letter, read_letter
from publishing.preflight.run_checks import Findings, findings_of
from publishing.preflight.words import fields_without_fallback
from subscribers.audience import confirmed
from subscribers.consent.consent_since import acts_since
from subscribers.models import Subscriber

_LATELY = timedelta(days=7)
# The pace of long ago says little of today's.
_EDITIONS_MEASURED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """
    A draft as it was looked at: what would go out, to whom, and what there is to say of it.

    `is_looked_at`: somebody looked lately at all there is outside. `place` is None for a new issue.
    `everyone` are all confirmed readers, `readers` those of them that it goes to.
    """

    draft: Draft
    content: Content
    facts: Facts
    findings: Findings
    place: VersionPlan | None
    readers: int
    everyone: int
    change: str
    pending: int
    gone: int
    takes: str
    is_looked_at: bool

    @property
    def version(self) -> int:
        """Which version of its issue it will be."""
        return self.place.version if self.place else 1

    @property
    def not_included(self) -> int:
        """Who is on the list and would not get it."""
        return self.pending + self.gone

    @property
    def not_reached(self) -> int:
        """The number of confirmed readers to whom this version does not go."""
        return self.everyone - self.readers

    @property
    def why_not(self) -> str:
        """Why it may not go out, in one sentence; empty if it may."""
        found = self.findings
        return f"{found.what_is_left} {found.first_stop}" if found.stops else ""

    @property
    def may_go_out(self) -> bool:
        """Whether nothing stops it."""
        return not self.findings.stops


def outside_of(letter: Letter) -> tuple[str, list[str]]:
    """What there is outside to look at: the sender's domain, or none, and the links."""
    domain = domain_of(settings.FROM_EMAIL)
    links = to_be_opened(letter, settings.SITE_URL)
    return ("" if is_for_examples(domain) else domain), links


def is_to_be_unlisted(draft: Draft, place: VersionPlan | None) -> bool:
    """Whether the issue will be unlisted: chosen in the draft, or for an earlier version."""
    return draft.unlisted or (place is not None and place.newest.issue.unlisted)


def check(draft: Draft, publisher: uuid.UUID) -> Checked:
    """Look at a draft on behalf of whoever may publish it. It reads; it changes nothing."""
    content = build_content(content_of_draft(draft))
    place = plan_version(draft.issue_id) if draft.issue_id else None
    everyone = place.everyone if place else confirmed().count()
    to_all = 0 if draft.goes_to == NOBODY else everyone
    readers = place.readers_of(draft.goes_to) if place else to_all
    letter = read_letter(content.html)
    outside = outside_of(letter)
    facts = _facts(draft, content, letter, place, readers, cached_results.fresh(*outside))
    found = findings_of(facts)
    stops = (*found.stops, *_rules(draft, content, place, publisher))
    states = dict(Subscriber.objects.order_by().values_list("state").annotate(Count("id")))
    pending = states.get(Subscriber.State.PENDING, 0)
    return Checked(
        draft=draft,
        content=content,
        facts=facts,
        findings=Findings(stops, found.advice, found.not_known, found.in_order),
        place=place,
        readers=readers,
        everyone=everyone,
        change=change_of_readers(everyone, _since_the_last()) if readers == everyone else "",
        pending=pending,
        gone=sum(states.values()) - pending - everyone,
        takes=takes(readers, _measured()),
        is_looked_at=_is_looked_at(facts, *outside),
    )


def _is_looked_at(facts: Facts, domain: str, links: list[str]) -> bool:
    return bool(facts.domain or not domain) and all(address in facts.links for address in links)


def _rules(
    draft: Draft, content: Content, place: VersionPlan | None, publisher: uuid.UUID
) -> list[Finding]:
    """What stops it whatever its words are."""
    found = []
    version = place.version if place else None
    refusal = versions.version_refusal(draft.issue_id, version, draft.goes_to)
    if refusal:
        found.append(stop(refusal, where=Where.PROGRESS if place else Where.NOWHERE))
    awaits = approval.approval_refusal(draft, publisher, content)
    if awaits:
        found.append(stop("Somebody else has to approve these words", awaits))
    return found


def _facts(
    draft: Draft,
    content: Content,
    letter: Letter,
    place: VersionPlan | None,
    readers: int,
    outside: Looked,
) -> Facts:
    newsletter = Newsletter.objects.the_one()
    mail = compose(
        content.title,
        content.html,
        content.text,
        newsletter=newsletter,
        site_url=settings.SITE_URL,
        preheader=content.preheader,
    )
    sending = read_health()
    bare = fields_without_fallback(content.title, content.preheader, content.html, content.text)
    return Facts(
        content=content,
        letter=letter,
        is_markdown=draft.format == Draft.Format.MARKDOWN,
        own_text=bool(draft.text.strip()),
        html_mail=mail.html,
        text_mail=mail.text,
        zone=newsletter.zone,
        now=sending.now,
        site_url=settings.SITE_URL,
        sender=settings.FROM_EMAIL,
        newsletter=newsletter.name,
        is_named=newsletter.is_named,
        language=newsletter.language,
        postal_address=newsletter.postal_address,
        adds_unsubscribe_link=settings.UNSUBSCRIBE_HANDLING == "own",
        readers=readers,
        is_mailed=draft.goes_to != NOBODY,
        would_stand=archive_sentence(unlisted=is_to_be_unlisted(draft, place), verb="would stand"),
        without_value={
            field.name: confirmed().filter(**{field.name: ""}).count() for field in bare
        },
        same_lately=_same_lately(draft, content, sending.now),
        going=_going(draft),
        earlier_versions_going=tuple(
            versions.overlap_warnings(place.newest.issue_id, place.version, draft.goes_to)
            if place
            else ()
        ),
        test=_test_of(content),
        worker_is_there=bool(sending.workers),
        worker_heard_at=sending.heard_at,
        domain=outside.domain,
        domain_looked_at=outside.domain_at,
        links=outside.links,
        links_looked_at=outside.links_at,
    )


def _same_lately(draft: Draft, content: Content, now: datetime) -> tuple[Published, ...]:
    """Other issues with these words or this title, also those that wait for their time."""
    # What was called back reached nobody.
    lately = Edition.objects.filter(
        kind=Edition.Kind.NEWSLETTER, published_at__gt=now - _LATELY
    ).exclude(control=Edition.Control.CANCELLED)
    rows = lately.order_by("-published_at").values_list(
        "issue_id", "title", "published_at", "content_hash", "control"
    )
    published = partial(Content, html="", text="")
    return tuple(
        Published(
            str(issue),
            published(title).plain_title,
            at,
            bytes(digest) == content.sha256,
            is_scheduled=control == Edition.Control.SCHEDULED,
        )
        for issue, title, at, digest, control in rows
        if issue != draft.issue_id
        and (
            bytes(digest) == content.sha256
            or published(title).plain_title.casefold() == content.plain_title.casefold()
        )
    )


def _going(draft: Draft) -> tuple[Published, ...]:
    """Other issues of which copies still wait."""
    return tuple(
        Published(
            str(books.issue),
            Content(books.title, "", "").plain_title,
            books.published_at,
            waiting=books.waiting,
        )
        for books in load_all_counts(among=load_open_newsletters())
        if books.waiting and books.control == "running" and books.issue != draft.issue_id
    )


def _test_of(content: Content) -> TestSent | None:
    """The newest test letter of these very words that Postmark accepted."""
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
            return TestSent(copy[0], copy[1])
    return None


def _since_the_last() -> Since | None:
    """How many the last issue to everyone went to, and what happened since."""
    last = (
        Edition.objects.filter(kind=Edition.Kind.NEWSLETTER, goes_to=EVERYONE, audience__gt=0)
        .exclude(control=Edition.Control.CANCELLED)
        .order_by("-published_at")
        .values_list("audience", "published_at")
        .first()
    )
    if last is None:
        return None
    audience, at = last
    acts = acts_since(at)
    return Since(
        audience,
        joined=acts.get("confirmed", 0) + acts.get("imported", 0),
        left=acts.get("left", 0),
        bounced=acts.get("bounced", 0),
        complained=acts.get("complained", 0),
    )


def _measured() -> list[Went]:
    """How fast the last issues went out, by the calls on record."""
    ended = Edition.objects.filter(kind=Edition.Kind.NEWSLETTER, audience__gt=0)
    newest = list(ended.order_by("-published_at").values_list("pk", flat=True)[:_EDITIONS_MEASURED])
    calls = (
        Attempt.objects.filter(edition__in=newest, accepted__gt=0, finished_at__isnull=False)
        .order_by()
        .values("edition")
        .annotate(copies=Sum("accepted"), began=Min("started_at"), ended=Max("finished_at"))
    )
    return [Went(call["copies"], (call["ended"] - call["began"]).total_seconds()) for call in calls]
