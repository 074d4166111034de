"""API calls that read issues and act on editions."""

import uuid
from datetime import datetime
from functools import partial
from typing import Literal, cast

from django.http import HttpRequest, HttpResponse
from ninja.params.functions import Query

from api.bearer import Bearer, get_caller
from api.idempotent_call import changing, once
from api.problem import answers
from api.schema import BEFORE, LIMIT, DecimalInt, json_response
from delivery.interface import join_transaction
from publishing.actions.action_sentences import in_one_line
from publishing.actions.edition_actions import OLD_NAMES, perform
from publishing.activity import record_issue_activity
from publishing.api import issue_scopes
from publishing.api.issue_shapes import (
    ActionDone,
    Copy,
    CopyPage,
    IssuePageBody,
    IssueStatus,
    Listed,
    Outcome,
    ReceiptBody,
)
from publishing.api.publishing_calls import THE_VERSION, address_of, router
from publishing.editions.edition_status import load_edition, load_status
from publishing.editions.find_edition import HIGHEST_VERSION
from publishing.progress.issue_list import newest_before, rows_of
from publishing.progress.outcome_sentences import why_of
from publishing.progress.reader_outcomes import outcome_page
from publishing.receipts.make_receipt import receipt_as_json, receipt_of

ActionName = Literal[
    "resume",
    "call-back",
    "pause",
    "send-now",
    "send-to-missed",
    "ask-again",
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


@router.get(
    "/",
    auth=Bearer(issue_scopes.STATUS),
    response=answers(IssuePageBody),
    summary="List issues",
)
def list_issues(
    request: HttpRequest, limit: DecimalInt = LIMIT, before: DecimalInt = BEFORE
) -> IssuePageBody:
    """List issues by their newest versions, newest first, with their status."""
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
    """Return the keys of `./homing issue_status` for the newest or the named version."""
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
    """List the copies of an edition by reader, with one outcome or all outcomes.

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
    """Return the signed receipt of a finished edition; 409 before that."""
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
    record = partial(record_issue_activity.record_action, get_caller(request).user.pk, edition)
    with join_transaction():
        name = OLD_NAMES.get(action, action)
        done = perform(name, edition, load_status(edition.pk), record=record)
    answer = ActionDone(**load_status(edition.pk).as_json(), done=in_one_line(done))
    return json_response(answer, url=address_of(edition))
