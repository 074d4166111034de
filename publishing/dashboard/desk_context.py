"""Make the context of the desk's page, in a constant number of queries.

A single query reads the counts of all editions on the page.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from delivery.humanise import clock_and_day, counted, digits
from delivery.interface import capabilities, database_time, provider_class
from delivery.models import Alarm, Edition, Newsletter
from delivery.monitoring.alarms import load_unseen_by_edition
from delivery.reports.load_edition_counts import (
    load_all_counts,
    load_held_transactional,
    load_open_newsletters,
)
from delivery.reports.sending_health import HealthLine, health_lines, read_health
from delivery.reports.worker_warnings import load_warnings
from delivery.tasks.run_leased_task import open_tasks
from publishing.activity.activity_log import activities_for, categories_for
from publishing.approval.approval_rules import ApprovalRule
from publishing.approval.record_approval import approved_drafts, rule_of, shortage_sentence
from publishing.content.edition_content import Content, plain_title
from publishing.content.word_count import estimate_word_count
from publishing.dashboard import reader_counts
from publishing.dashboard.dashboard_headline import headline_sentence
from publishing.dashboard.first_steps import STEPS, load_first_steps
from publishing.dashboard.issue_pages import (
    IssuePage,
    IssueSearch,
    is_any_published,
    open_drafts,
    page_of,
    upcoming,
)
from publishing.dashboard.reader_counts import first_month, source_table
from publishing.dashboard.readers_chart import chart_of
from publishing.dashboard.sending_now import Sending, page_contents, sending_now
from publishing.dashboard.todo_items import (
    SHOWN,
    TodoList,
    editions_to_settle,
    no_worker,
    todo_list,
)
from publishing.desk_permissions import MAY_ACT, MAY_LOOK, MAY_WRITE, PUBLISH
from publishing.editions.audience import EVERY_READER, EVERYONE, TagChoice, select_audience
from publishing.editions.edition_status import EditionStatus, status_from_counts
from publishing.external_checks.domain_records import DnsStatus, DomainRecords, domain_of
from publishing.models import Draft, ExternalCheck
from publishing.preflight.link_address import is_placeholder
from publishing.progress.issue_list import rows_of, shown_in
from publishing.scheduling.local_time import scheduled_for
from subscribers.importing.import_page import status_sentence
from subscribers.models import Subscriber, SubscriberImport
from subscribers.reader_permissions import CHANGE_NEWSLETTER, MANAGE
from subscribers.reader_totals import counts_by_state, load_new_readers

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser
    from django.contrib.auth.models import AnonymousUser

ACTIVITIES = 6


class Viewer:
    """A user, and which parts of the desk their permissions allow."""

    def __init__(self, user: AbstractBaseUser | AnonymousUser) -> None:
        def may(*permissions: str) -> bool:
            return any(user.has_perm(one) for one in permissions)  # type: ignore[union-attr]

        self.user = user
        self.looks = may(*MAY_LOOK)
        self.writes = may(*MAY_WRITE)
        self.publishes = may(PUBLISH)
        self.operates = may(*MAY_ACT)
        self.manages = may(MANAGE)
        self.changes_settings = may(CHANGE_NEWSLETTER)


def desk_context(viewer: Viewer, search: IssueSearch) -> dict[str, Any]:
    """Return the context for this user; parts that the user may not see are empty."""
    newsletter = Newsletter.objects.get_current()
    zone = newsletter.zone
    open_ones = load_open_newsletters() if viewer.looks else []
    page = IssuePage()
    if viewer.looks:
        page = page_of(search, open_ones, sees_drafts=viewer.writes)
    mailed = reader_counts.newest_mailed()
    ended = reader_counts.ended_among(mailed, open_ones)
    read = {*open_ones, *shown_in([*page.editions, *page.scheduled, *ended])}
    counts = {one.edition: one for one in load_all_counts(sorted(read))} if read else {}
    now = max((one.now for one in counts.values()), default=None) or database_time()
    statuses = [status_from_counts(counts[edition]) for edition in open_ones]
    sending = sending_now(statuses, zone)
    rule = rule_of(newsletter)
    takes_two = rule.is_required
    approved = _approved(viewer, page.drafts) if takes_two else frozenset()
    now_confirmed = counts_by_state()[Subscriber.State.CONFIRMED]
    todo = _todo_of_sending(viewer, statuses) + _todo_of_people(viewer, approved, rule)
    coming = upcoming(page.all_scheduled, now)
    is_quiet = not (todo.count or sending or coming)
    headline = headline_sentence(
        needs=todo.count,
        sending=[one.title for one in sending if not one.progress.is_held],
        held=[one.title for one in sending if one.progress.is_held],
        scheduled=[(plain_title(one), scheduled_for(one)) for one in coming],
        has_issues=bool(mailed) or (viewer.looks and is_any_published()),
        drafts=open_drafts().count() if viewer.writes and is_quiet else 0,
        sees_issues=viewer.looks,
    )
    points = reader_counts.points_of(mailed, now_confirmed, zone)
    return {
        "newsletter": newsletter,
        "viewer": viewer,
        "read_at": now,
        "headline": headline,
        "todo": todo,
        "first": load_first_steps(
            newsletter,
            {one for right, steps in STEPS.items() if getattr(viewer, right) for one in steps},
            readers=now_confirmed,
            has_issue=bool(mailed),
            has_sent=any(one.sent for one in counts.values()),
        ),
        "sending": sending,
        "contents": page_contents(sending, needs=len(statuses) - len(sending)),
        "drafts": [
            (draft, _title(draft), estimate_word_count(draft.letter), draft.pk in approved)
            for draft in page.drafts
        ],
        "has_more_drafts": page.more_drafts,
        "scheduled": [
            (row, _would_get(row.edition, now_confirmed)) for row in rows_of(page.scheduled, counts)
        ],
        "rows": rows_of(page.editions, counts),
        "next_page": page.next,
        "takes_two": takes_two,
        "confirmed": now_confirmed,
        "chart": chart_of(points),
        "figures": "; ".join(f"{point.date} {digits(point.readers)}" for point in points),
        "sources": source_table(load_new_readers(first_month(now.date()))),
        "undelivered": reader_counts.undelivered_of(ended, counts, zone),
        "unconfirmed": sum(counts[one.pk].unknown for one in ended),
        "health": _health(newsletter) if viewer.operates else [],
        "activities": activities_for(viewer.user, limit=ACTIVITIES)[0],
        "has_log": bool(categories_for(viewer.user)),
    }


def read_sending(newsletter: Newsletter) -> tuple[list[Sending], str, datetime]:
    """Return the editions being sent, a text that polls compare, and the current time."""
    statuses = _statuses_of(load_open_newsletters())
    sending = sending_now(statuses, newsletter.zone)
    return sending, page_contents(sending, needs=len(statuses) - len(sending)), database_time()


def _todo_of_sending(viewer: Viewer, statuses: Sequence[EditionStatus]) -> TodoList:
    if not viewer.looks:
        return TodoList()
    alarms = Alarm.objects.filter(seen_at=None).values("edition").distinct().count()
    latest = load_unseen_by_edition(limit=SHOWN) if alarms else []
    return (
        editions_to_settle(statuses)
        + todo_list("alarm", [{"alarm": one} for one in latest], count=alarms)
        + no_worker(statuses)
        + editions_to_settle(_statuses_of(load_held_transactional(), open_only=True))
        + todo_list("worker_warning", [{"warning": warning} for warning in load_warnings()])
    )


def _statuses_of(editions: Sequence[int], *, open_only: bool = False) -> list[EditionStatus]:
    counts = load_all_counts(editions, open_only=open_only) if editions else []
    return [status_from_counts(one) for one in counts]


def _todo_of_people(viewer: Viewer, approved: Collection[UUID], rule: ApprovalRule) -> TodoList:
    todo = TodoList()
    if viewer.writes or viewer.changes_settings:
        shortage = shortage_sentence(rule)
        todo += todo_list("approval", [{"sentence": shortage}] if shortage else [])
    if viewer.manages:
        brings = Q(added__gt=0) | Q(known__gt=0) | Q(skipped__gt=0)
        checked = SubscriberImport.objects.filter(brings, state=SubscriberImport.State.CHECKED)
        shown = [
            {"record": one, "sentence": status_sentence(one)}
            for one in checked.order_by("pk")[:SHOWN]
        ]
        todo += todo_list("import", shown, count=checked.count())
    if viewer.publishes and rule.is_required:
        unapproved = [
            {"draft": draft, "title": _title(draft)}
            for draft in _of_others(viewer).defer("letter", "text", "preview_text")
            if draft.pk not in approved
        ]
        todo += todo_list("draft", unapproved)
    return todo


def _of_others(viewer: Viewer) -> QuerySet[Draft]:
    """Select the drafts that another user saved last: this viewer may approve them."""
    return open_drafts().exclude(saved_by=viewer.user.pk)


def _approved(viewer: Viewer, shown: Sequence[Draft]) -> frozenset[UUID]:
    if not viewer.publishes:
        return approved_drafts(shown)
    others = _of_others(viewer).exclude(approved_hash=None)
    return approved_drafts([*shown, *others.exclude(pk__in=[draft.pk for draft in shown])])


def _would_get(edition: Edition, everyone: int) -> int:
    """Return how many readers would get a scheduled edition now."""
    tags = TagChoice.of(edition)
    if edition.goes_to == EVERYONE and tags == EVERY_READER:
        return everyone
    audience = select_audience(edition.issue_id, edition.version, edition.goes_to, tags=tags)
    return audience.count()


def _title(draft: Draft) -> str:
    return Content(title=str(draft)).plain_title


def _health(newsletter: Newsletter) -> list[HealthLine]:
    found = read_health()
    lines = health_lines(
        found,
        newsletter.zone,
        ceiling_per_s=settings.DELIVERY_RATE_PER_S,
        takes_webhooks=bool(provider_class().webhook_login()),
    )
    return [*lines, _sender_domain(newsletter, found.now), _imports()]


def _imports() -> HealthLine:
    running = open_tasks(SubscriberImport).order_by("pk")[: SHOWN + 1]
    names = [one.filename for one in running.only("filename")]
    if not names:
        return HealthLine(_("Imports"), "sent", "sent", _("None is running"))
    if len(names) > SHOWN:
        state = counted("More than {n} is running", "More than {n} are running", SHOWN)
    else:
        state = counted("{n} is running", "{n} are running", len(names))
    return HealthLine(_("Imports"), "sending", "sent", state, ", ".join(names[:3]))


def _sender_domain(newsletter: Newsletter, now: datetime) -> HealthLine:
    """Return the health line of the sender's domain, from the last DNS look-up.

    A missing DKIM key is not shown as a fault: the key may exist, but the name of the provider's
    key cannot be guessed.
    """
    name, domain = _("Sender domain"), domain_of(newsletter.sender)
    if is_placeholder(domain):
        more = _("{domain} is a placeholder. Set your own sender under Settings")
        state = _("Placeholder")
        return HealthLine(name, "waiting", "calm", state, more.format(domain=domain))
    check = ExternalCheck.objects.filter(kind=ExternalCheck.Kind.DOMAIN, subject=domain).first()
    if check is None:
        more = _("{domain} is checked when you check an issue before publishing")
        state = _("Not checked yet")
        return HealthLine(name, "waiting", "calm", state, more.format(domain=domain))
    found = DomainRecords.from_json(check.found)
    at = _("{domain}, checked at {time}").format(
        domain=domain, time=clock_and_day(check.looked_at, now, newsletter.zone)
    )
    if found.texts.status is DnsStatus.NO_SUCH_NAME:
        return HealthLine(name, "attention", "fault", _("The domain does not exist"), at)
    if not found.dkim.is_known:
        return HealthLine(name, "unknown", "doubt", _("No name server answered"), at)
    can = capabilities()
    if not (can.sender_records and found.has_dkim_key):
        if can.sender_records:
            key = _("{provider}’s key usually has a name that cannot be guessed")
        else:
            key = _("{provider} does not say which key it uses")
        key = key.format(provider=can.name)
        more = f"{key}; {_dmarc(found)}; {at}"
        return HealthLine(name, "waiting", "calm", _("DKIM unknown"), more)
    return HealthLine(name, "sent", "sent", _("DKIM found"), f"{_dmarc(found)}; {at}")


def _dmarc(found: DomainRecords) -> str:
    if not found.dmarc.is_known:
        return _("no name server answered for DMARC")
    number = len(found.dmarc_records)
    if not number:
        return _("no DMARC record")
    if number == 1:
        return _("DMARC is “{policy}”").format(policy=found.dmarc_policy)
    return counted(
        "{n} DMARC record, which receivers ignore",
        "{n} DMARC records, which receivers ignore",
        number,
    )
