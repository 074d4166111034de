"""API calls to publish, reschedule and list issues, read their state, and act."""

import uuid
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Literal, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Body, Router
from ninja.params.functions import Query

from api.bearer import Bearer, get_caller
from api.idempotent_call import changing, once, require_key, run_call
from api.problem import ProblemError, ProblemType, answers, field_problem
from api.schema import BEFORE, LIMIT, DecimalInt, json_response
from delivery.interface import database_time, join_transaction
from delivery.models import Edition, Newsletter
from delivery.rules.scheduled_time import ScheduledTime
from idempotency.saved_response import DifferentContentError
from publishing.actions.action_sentences import in_one_line
from publishing.actions.edition_actions import OLD_NAMES, perform, reschedule
from publishing.activity.record_issue_activity import record_action, record_rescheduling
from publishing.api import issue_scopes
from publishing.api.issue_shapes import (
    ActionDone,
    Clock,
    Copy,
    CopyPage,
    IssuePageBody,
    IssueStatus,
    Listed,
    NewIssue,
    NewTime,
    NewVersion,
    Outcome,
    Published,
    ReceiptBody,
    Words,
    content_in,
    refuse_problems,
)
from publishing.approval.record_approval import NEEDS_TWO, NeedsApprovalError, needs_approval
from publishing.editions.audience import TagChoice, unknown_tag_sentence
from publishing.editions.edition_status import load_edition, load_status
from publishing.editions.find_edition import HIGHEST_VERSION
from publishing.editions.issue_address import exact_address
from publishing.editions.versions import VersionRefusedError, version_refusal, versions_of
from publishing.models import Visibility
from publishing.progress.issue_list import newest_before, rows_of
from publishing.progress.outcome_sentences import why_of
from publishing.progress.reader_outcomes import outcome_page
from publishing.publish.publish_edition import (
    KeyUsedForOtherContentError,
    PublishOptions,
    edition_by_key,
    has_content,
    publish,
)
from publishing.receipts.make_receipt import receipt_as_json, receipt_of
from publishing.scheduling.local_time import InvalidTimeError, parse_scheduled_time
from subscribers.fields.find_tags import UnknownTagError, find_tags

_MADE = {201: Published, 200: Published}
_PUBLISHING: dict[str, Any] = {"tags": ["Publishing"], "auth": Bearer(issue_scopes.PUBLISH)}

# Keep the order of the calls: a path with a fixed word must come before a path that has a parameter
# in the same place.
router = Router(tags=["Issues"])
# An action needs the version that the caller saw, because a newer version may exist now.
THE_VERSION = Query(
    ..., ge=1, le=HIGHEST_VERSION, description="The version that the call acts on.", example=1
)
ActionName = Literal[
    "resume",
    "call-back",
    "pause",
    "send-now",
    "send-to-missed",
    "ask-again",
    "treat-as-sent",
    "resend-unknown",
    "close",
    "cancel",
    "send-doubtful",  # the former name of `resend-unknown`
]
Which = Literal["all", "sent", "waiting", "unknown", "suppressed", "withdrawn", "failed", "missed"]

# Callers omit this parameter to name the newest version, because a query string has no null.
WHICH_VERSION = Query(
    None, ge=1, le=HIGHEST_VERSION, description="The version; the newest if omitted.", example=1
)
WHICH_OUTCOME = Query("all", description="Only copies with this outcome.")
AFTER = Query(
    None,
    pattern=r"^[0-9]{1,18}\.[0-9]{1,18}$",
    description="`next` of the page before: two numbers and a dot.",
)


def address_of(edition: Edition) -> str:
    """Return the URL of an edition's status."""
    return f"{reverse('api:issue_status', args=[edition.issue_id])}?version={edition.version}"


@router.post("/", summary="Publish a new issue", **_PUBLISHING, **changing(_MADE))
def publish_issue(request: HttpRequest, content: Body[NewIssue]) -> HttpResponse:
    """Publish an issue as its version 1, now or at a scheduled time.

    The issue is mailed to all confirmed readers, or appears only in the archive. A key belongs to
    one edition, so repeating a call with the same key never publishes twice.
    """
    return _publish(request, content, None)


@router.post(
    "/{uuid:issue}/versions/",
    summary="Publish the next version of an issue",
    **_PUBLISHING,
    **changing(_MADE, 404),
)
def publish_version(
    request: HttpRequest, issue: uuid.UUID, content: Body[NewVersion]
) -> HttpResponse:
    """Publish the next version of an issue.

    The version is a correction if any reader got an earlier version.

    If the version already exists, the call returns that version and sends nothing.
    """
    if not versions_of(issue).exists():
        raise ProblemError(ProblemType.NOT_FOUND, f"There is no issue {issue}.")
    return _publish(request, content, issue)


@router.post(
    "/{uuid:issue}/reschedule/",
    summary="Change the time of a scheduled issue",
    **_PUBLISHING,
    **changing({200: IssueStatus}, 404),
)
@once
def reschedule_issue(
    request: HttpRequest,
    issue: uuid.UUID,
    content: Body[NewTime],
    version: DecimalInt = THE_VERSION,
) -> HttpResponse:
    """Change the time of a scheduled issue before it is due, and return its status."""
    edition, author = load_edition(issue, version), get_caller(request).user.pk
    at = _read(content.at, content)
    with join_transaction():
        reschedule(edition, at, record=lambda was: record_rescheduling(author, edition, was, at))
    return json_response(IssueStatus(**load_status(edition.pk).as_json()), url=address_of(edition))


def _publish(
    request: HttpRequest, words: NewIssue | NewVersion, issue: uuid.UUID | None
) -> HttpResponse:
    author, key, goes_to = get_caller(request).user.pk, require_key(request), words.goes_to
    version = words.version if isinstance(words, NewVersion) else None
    tags, archive, address = _tags(words), _archive(words), _address(words, issue)
    content = replace(content_in(words), has_page=archive != Visibility.NONE)
    hold_s = settings.PUBLISH_HOLD_S if words.hold_s is None else words.hold_s

    def check() -> None:
        refuse_problems(content)
        refusal = version_refusal(issue, version, goes_to)
        if refusal:
            raise VersionRefusedError(refusal)
        is_known = edition_by_key(author, key) is not None
        _moment(words, is_known=is_known)
        if needs_approval() and not is_known:
            raise NeedsApprovalError(str(NEEDS_TWO))

    def work() -> HttpResponse:
        options = PublishOptions(
            issue=issue,
            version=version,
            goes_to=goes_to,
            archive=archive,
            at=_moment(words, is_known=True),
            tags=tags,
            address=address,
            without_note=isinstance(words, NewVersion) and not words.note,
        )
        try:
            published = publish(author, key, content, options, hold_s=hold_s)
        except KeyUsedForOtherContentError as error:
            raise DifferentContentError(address_of(error.edition)) from None
        edition, created = published.edition, published.created
        if not created and not options.are_met_by(edition, content):
            difference = "options" if has_content(edition, content) else "content"
            raise ProblemError(
                ProblemType.OTHER_CONTENT,
                f"Version {edition.version} already exists with other {difference}. Nothing was "
                "sent and nothing was changed.",
                earlier_url=address_of(edition),
            )
        answer = Published(
            issue=edition.issue_id,
            version=edition.version,
            audience=edition.audience,
            created=created,
        )
        return json_response(answer, url=address_of(edition), created=created)

    return run_call(request, words, work, check=check)


def _archive(words: Words) -> str:
    """Return where readers find the issue; empty if the call does not choose."""
    named = {None: "", True: Visibility.UNLISTED, False: Visibility.PUBLIC}[words.unlisted]
    if named and words.archive and named != words.archive:
        raise field_problem("archive", "“archive” and “unlisted” differ. Send only “archive”.")
    return words.archive or named


def _address(words: Words, issue: uuid.UUID | None) -> str:
    """Return the address that the call chose; empty if the title gives the address."""
    try:
        return "" if words.address is None else exact_address(words.address, issue)
    except ValueError as error:
        raise field_problem("address", str(error)) from None


def _tags(words: Words) -> TagChoice | None:
    """Return the tags of the audience; None if the call names no tags."""
    if words.tags is None and words.without_tags is None:
        return None
    found = []
    for field in ("tags", "without_tags"):
        try:
            found.append(find_tags(getattr(words, field) or ()))
        except UnknownTagError as error:
            raise field_problem(field, unknown_tag_sentence(error)) from None
    return TagChoice(*found)


def _moment(words: Words, *, is_known: bool) -> ScheduledTime | None:
    """Return the time at which the issue is sent; None to send it now.

    If the call repeats an earlier call with the same key, the time may be in the past.
    """
    if words.at is None:
        if words.zone is not None or words.which is not None:
            field = "zone" if words.zone is not None else "which"
            raise field_problem(field, f"“{field}” needs a time in “at”.")
        return None
    return _read(words.at, words, is_known=is_known)


def _read(at: str, clock: Clock, *, is_known: bool = False) -> ScheduledTime:
    zone = clock.zone or Newsletter.objects.get_current().time_zone
    try:
        return parse_scheduled_time(
            at, zone, clock.which or "", now=None if is_known else database_time()
        )
    except InvalidTimeError as refused:
        raise field_problem(refused.field, refused.sentence) from None


@router.get(
    "/",
    auth=Bearer(issue_scopes.STATUS),
    response=answers(IssuePageBody),
    summary="List issues",
)
def list_issues(
    request: HttpRequest, limit: DecimalInt = LIMIT, before: DecimalInt = BEFORE
) -> IssuePageBody:
    """List the issues, each with the status of one version, newest first."""
    editions, following = newest_before(before, limit=limit)
    return IssuePageBody(
        issues=[
            Listed(
                **row.status.as_json(),
                title=row.title,
                published_at=row.status.counts.published_at,
                page_corrected_at=row.page_corrected_at,
            )
            for row in rows_of(editions)
        ],
        next=following,
    )


@router.get(
    "/{uuid:issue}/",
    auth=Bearer(issue_scopes.STATUS),
    response=answers(IssueStatus, 404),
    summary="Status of an issue",
    url_name="issue_status",
)
def issue_status(
    request: HttpRequest, issue: uuid.UUID, version: DecimalInt = WHICH_VERSION
) -> IssueStatus:
    """Return the status of a version, by default of the newest, with exact counts."""
    return IssueStatus(**load_status(load_edition(issue, version).pk).as_json())


@router.get(
    "/{uuid:issue}/copies/",
    auth=Bearer(issue_scopes.COPIES),
    response=answers(CopyPage, 404, 410),
    summary="Outcome of each copy",
)
def list_copies(
    request: HttpRequest,
    issue: uuid.UUID,
    version: DecimalInt = WHICH_VERSION,
    outcome: Which = WHICH_OUTCOME,
    limit: DecimalInt = LIMIT,
    after: str = AFTER,
) -> CopyPage:
    """List the copies of an edition, with one outcome or all outcomes.

    Copies with the outcome `missed` can be sent again.
    """
    edition = load_edition(issue, version)
    deliveries, following = outcome_page(edition.pk, outcome, after or "", limit=limit)
    held_until = load_status(edition.pk).held_until
    return CopyPage(
        issue=edition.issue_id,
        version=edition.version,
        copies=[
            Copy(
                reader=delivery.recipient_id,
                address=delivery.address,
                name=delivery.name,
                outcome=cast("Outcome", delivery.outcome),
                sent_at=delivery.sent_at,
                message_id=delivery.provider_message_id,
                evidence=delivery.evidence,
                reason=""
                if delivery.outcome == "sent"
                else why_of(delivery, datetime.isoformat, held_until=held_until),
            )
            for delivery in deliveries
        ],
        next=following or None,
    )


@router.get(
    "/{uuid:issue}/receipt/",
    auth=Bearer(issue_scopes.STATUS),
    response=answers(ReceiptBody, 404, 409),
    summary="The receipt of an issue",
)
def issue_receipt(
    request: HttpRequest, issue: uuid.UUID, version: DecimalInt = WHICH_VERSION
) -> HttpResponse:
    """Return the signed receipt of a finished edition; 409 if it has not finished."""
    receipt = receipt_of(load_edition(issue, version))
    return HttpResponse(f"{receipt_as_json(receipt)}\n", content_type="application/json")


@router.post(
    "/{uuid:issue}/{action}/",
    auth=Bearer(issue_scopes.OPERATE),
    summary="Act on an edition",
    **changing({200: ActionDone}, 404),
)
@once
def act_on_issue(
    request: HttpRequest, issue: uuid.UUID, action: ActionName, version: DecimalInt = THE_VERSION
) -> HttpResponse:
    """Run an action of `./homing edition` on a version, and return its result."""
    edition = load_edition(issue, version)
    record = partial(record_action, get_caller(request).user.pk, edition)
    with join_transaction():
        name = OLD_NAMES.get(action, action)
        done = perform(name, edition, load_status(edition.pk), record=record)
    answer = ActionDone(**load_status(edition.pk).as_json(), done=in_one_line(done))
    return json_response(answer, url=address_of(edition))
