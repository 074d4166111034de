"""Promises after a crash and at the end. A sentence reports each broken promise."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import connection

from delivery.models import Attempt, Batch, Delivery, Edition
from delivery.reports.audit import find_violations
from delivery.reports.load_edition_counts import load_counts
from delivery.rules.delivery_key import DeliveryKey
from publishing.models import Issue
from tests.crash_points.actions import LETTER, Hands

Accepted = list[tuple[str, str]]
# The keys of the copies that the operator decided to resend, or to count as sent.
Decided = dict[str, list[str]]


def always(accepted: Accepted, decided: Decided) -> Iterator[str]:
    """Check what holds at any instant: no second copy, right counts, whole editions."""
    editions = list(Edition.objects.values_list("pk", flat=True))
    yield from (sentence for _, sentence in find_violations(editions))
    for edition in editions:
        if not load_counts(edition).balanced:
            yield f"the counts of edition {edition} do not balance: {load_counts(edition)}"
    for key, copies in Counter(key for key, _ in accepted).items():
        if copies > 1 + decided["resent"].count(key):
            yield f"the provider accepted {copies} copies of {key}"
    if not editions:
        # Count only the scenario's issue, because the migrations create other issues.
        issues = Issue.objects.filter(title=LETTER.title)
        left = [rows.count() for rows in (issues, Delivery.objects, Batch.objects)]
        if any(left) or accepted:
            yield f"rows without an edition: {left}; accepted copies: {len(accepted)}"


def few_unconfirmed(decided: Decided, lost_calls: int) -> Iterator[str]:
    """Check that at most one batch for each lost call needed a decision."""
    keys = {key for copies in decided.values() for key in copies}
    if len(keys) > lost_calls * settings.DELIVERY_BATCH_SIZE:
        yield f"{len(keys)} copies needed a decision after {lost_calls} lost calls"


def in_the_end(
    hands: Hands, accepted: Accepted, decided: Decided, leaves_out: frozenset[str]
) -> Iterator[str]:
    """Check at the end: every reader has one copy, or none for a valid reason."""
    yield from always(accepted, decided)
    if hands.publish().created:
        yield "posting the same form again created a second edition"
    deliveries = list(Delivery.objects.all())
    if (Edition.objects.count(), len(deliveries)) != (1, hands.stage.readers):
        yield f"{Edition.objects.count()} editions with {len(deliveries)} deliveries"
    ids = dict(accepted)
    for delivery in deliveries:
        key = str(DeliveryKey(delivery.issue_id, delivery.version, delivery.recipient_id))
        held = ids.pop(key, None)
        if key in decided["counted"]:
            if delivery.outcome != "sent":
                yield f"{key} counts as sent by a decision, but is {delivery.outcome}"
            continue
        if delivery.provider_message_id != held:
            yield f"{key} is recorded as {delivery.provider_message_id}, accepted as {held}"
        if delivery.outcome not in leaves_out | {"sent"} or (delivery.outcome == "sent") != bool(
            held
        ):
            yield f"{key} is {delivery.outcome}, accepted as {held}"
    for key in ids:
        yield f"the provider accepted {key}, which no delivery names"
    for batch in Batch.objects.exclude(state="done"):
        yield f"batch {batch.pk} is still {batch.state}"
    for batch in Batch.objects.filter(lease_until__isnull=False):
        yield f"batch {batch.pk} is {batch.state} and still leased"
    for attempt in Attempt.objects.filter(result=None):
        yield f"attempt {attempt.pk} has no recorded end"


def world(accepted: Accepted) -> Any:
    """Return all state that outlives a process, without names and times.

    The result is used to compare two crashes.
    """
    seen: list[Any] = [sorted(Counter(key.rpartition(".")[0] for key, _ in accepted).values())]
    for query in (
        """SELECT state, epoch, owner IS NULL, lease_until IS NULL, attempt IS NULL,
                  unknown_since IS NULL, lookups, tries, deferrals, crashes, reason, size, waiting,
                  sent, unknown, suppressed, withdrawn, failed FROM batch ORDER BY position, id""",
        """SELECT outcome, provider_message_id IS NULL, sent_at IS NULL, evidence
           FROM delivery ORDER BY recipient_id""",
        "SELECT result, finished_at IS NULL, accepted FROM attempt ORDER BY started_at",
        "SELECT source FROM evidence ORDER BY recipient_id",
        "SELECT control, probing FROM edition ORDER BY id",
        "SELECT kind, applied_at IS NULL FROM provider_event ORDER BY 1, 2",
        "SELECT (SELECT count(*) FROM idempotency), (SELECT count(*) FROM alarm)",
    ):
        with connection.cursor() as cursor:
            cursor.execute(query)
            seen.append(cursor.fetchall())
    return repr(seen)
