"""The effect of provider events on readers and suppressions.

Events arrive more than once and in any order. The most serious state and the most serious reason
stay, and so does the earliest time.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Value
from django.db.models.functions import Least

from delivery.interface import (
    AddressEvent,
    AddressReactivated,
    AddressSuppressed,
    Bounced,
    BounceMeaning,
    bounce_types,
    count_unsubscribed,
)
from delivery.retention.anonymise import delete_provider_data
from subscribers.consent.consent_log import record_consent
from subscribers.data_requests.erase import erased_among
from subscribers.models import ConsentRecord, Subscriber, Suppression
from subscribers.models.consent_record import Act, How
from subscribers.suppression.lift_bounces import (
    LIFTABLE,
    last_lifting,
    lift_reactivated,
    was_lifted_since,
)

# An address counts as bounced after this number of bounced deliveries in this number of days.
SOFT_BOUNCES = 5
WITHIN_DAYS = 30

State = Subscriber.State
Reason = Suppression.Reason
GRAVER = (State.PENDING, State.CONFIRMED, State.BOUNCED, State.UNSUBSCRIBED, State.COMPLAINED)


class _Effect(NamedTuple):
    """The effect of an event: new state, reason of the suppression, consent act."""

    state: str | None
    reason: Reason
    act: Act


_EFFECTS = {
    BounceMeaning.BOUNCED: _Effect(State.BOUNCED, Reason.BOUNCE, Act.BOUNCED),
    BounceMeaning.LEFT: _Effect(State.UNSUBSCRIBED, Reason.UNSUBSCRIBE, Act.LEFT),
    BounceMeaning.COMPLAINED: _Effect(State.COMPLAINED, Reason.COMPLAINT, Act.COMPLAINED),
}
# The provider, or a user of our account there, suppressed the address; the reader did not.
_BLOCKED = _Effect(None, Reason.MANUAL, Act.BLOCKED)


def apply_events(events: Sequence[AddressEvent]) -> None:
    """Apply events in the caller's transaction. No event resubscribes a reader."""
    with connection.cursor() as cursor:
        for event in events:
            if isinstance(event, Bounced | AddressSuppressed):
                _apply(cursor, event)
            elif isinstance(event, AddressReactivated):
                lift_reactivated(event)


def reported_reasons(reader: Subscriber) -> list[Reason]:
    """Return the reported reasons for suppressing this reader since the last opt-in.

    Reasons come from the provider and from imports. A bounce that was lifted is left out.
    """
    reported = ConsentRecord.objects.filter(
        subscriber=reader, how__in=(How.PROVIDER, How.IMPORT), id__gt=reader.opt_in_id or 0
    )
    if (lifted := last_lifting(reader)) is not None:
        reported = reported.exclude(act=Act.BOUNCED, id__lt=lifted.pk)
    acts = set(reported.values_list("act", flat=True))
    reasons = [effect.reason for effect in _EFFECTS.values() if effect.act in acts]
    if reported.filter(act=Act.BLOCKED, how=How.IMPORT).exists():
        reasons.append(Reason.MANUAL)
    return reasons


def _apply(cursor: CursorWrapper, event: Bounced | AddressSuppressed) -> None:
    at = event.at
    assert at is not None  # noqa: S101 -- delivery sets the time of every event
    readers = Subscriber.objects.select_for_update(no_key=True)
    reader = readers.filter(email_key=event.address_key).first()
    if reader is None and erased_among([event.address_key]):
        # The reader was erased. Do not let a late event store the address again.
        delete_provider_data(event.address_key)
        return
    effect = _EFFECTS.get(event.meaning)
    if isinstance(event, Bounced):
        if reader is not None:
            _keep_bounce(cursor, reader, event)
            if effect is None and (enough_at := _soft_bounces_are_enough_at(cursor, reader)):
                effect, at = _EFFECTS[BounceMeaning.BOUNCED], enough_at
    elif effect is None and not event.is_our_own:
        effect = _BLOCKED
    if effect is None:
        return
    if not _concerns_newsletter(event, effect) and (reader is None or reader.confirmed_at):
        return
    # Load `opt_in` only after locking the reader: the lock waits for the commit of a concurrent
    # opt-in.
    if reader is not None and reader.opt_in is not None and at <= reader.opt_in.at:
        return
    if effect.act in LIFTABLE and was_lifted_since(event.stream, event.address_key, reader, at):
        return
    if reader is not None:
        _change_state(reader, effect, at)
        _record_act(reader, effect.act, at, event)
    if _concerns_newsletter(event, effect):
        _suppress(cursor, event.address_key, effect.reason, at)


def _concerns_newsletter(event: Bounced | AddressSuppressed, effect: _Effect) -> bool:
    """Return whether the event forbids sending the newsletter to the address.

    The provider keeps a list of suppressions for each stream, so a report about mail on request
    says nothing about letters. A complaint is about the sender of both kinds of mail, so it counts
    for letters too.
    """
    return not event.is_on_request or effect.act is Act.COMPLAINED


def _change_state(reader: Subscriber, effect: _Effect, at: datetime) -> None:
    changes: dict[str, Any] = {}
    if effect.state is not None and GRAVER.index(effect.state) > GRAVER.index(reader.state):
        changes["state"] = effect.state
    if effect.act is Act.LEFT:
        changes["unsubscribed_at"] = Least("unsubscribed_at", Value(at))
    # If there are no changes, Django runs no statement here.
    Subscriber.objects.filter(id=reader.pk).update(**changes)


def _record_act(
    reader: Subscriber, act: Act, at: datetime, event: Bounced | AddressSuppressed
) -> None:
    """Record the act once after each opt-in; if it was lifted, record it again."""
    since = ConsentRecord.objects.filter(subscriber=reader, id__gt=reader.opt_in_id or 0)
    if act in LIFTABLE and (lifted := last_lifting(reader)) is not None:
        since = since.filter(id__gt=lifted.pk)
    if not since.filter(act=act).exists():
        detail = event.kind if isinstance(event, Bounced) else f"{event.reason} by {event.origin}"
        record_consent(reader.pk, act, How.PROVIDER, at=at, detail=detail)
        if act is Act.LEFT:
            count_unsubscribed(reader.pk, at)


def _suppress(cursor: CursorWrapper, address_key: str, reason: Reason, at: datetime) -> None:
    """Suppress the address with the more serious of the old and the new reason.

    A lifted reason counts again only for later events. Unblocking lifts only the operator's block.
    Lifting a bounce lifts no unsubscribe and no complaint, not even if these are older than the
    bounce.
    """
    cursor.execute(
        """
        INSERT INTO suppression AS held (address_key, reason, origin, at, reported_at)
        VALUES (%(key)s, %(reason)s, 'provider', %(at)s, %(at)s)
        ON CONFLICT (address_key) DO UPDATE
        SET (reason, origin) = (
                SELECT reported.reason, reported.origin
                FROM (VALUES (held.reason, held.origin, held.lifted_at IS NULL),
                             (excluded.reason, excluded.origin, true))
                     AS reported (reason, origin, counts)
                WHERE counts
                ORDER BY gravity_of_suppression_1(reported.reason, reported.origin) DESC LIMIT 1),
            at = CASE WHEN held.lifted_at IS NULL THEN least(held.at, excluded.at)
                      ELSE excluded.at END,
            reported_at = greatest(held.reported_at, excluded.reported_at),
            lifted_at = NULL, lifted_by_id = NULL
        WHERE held.lifted_at IS NULL OR held.lifted_at < excluded.at
           OR (held.lifted_by_id IS NULL AND excluded.reason <> ALL (
                   CASE held.lifted_how WHEN '' THEN '{manual}' ELSE '{manual,bounce}' END::text[]))
        """,
        {"key": address_key, "reason": reason.value, "at": at},
    )


def _keep_bounce(cursor: CursorWrapper, reader: Subscriber, event: Bounced) -> None:
    """Store each bounce once; a later report of it may add the delivery."""
    # Only bounced letters count towards the limit.
    delivery = None if event.is_on_request else event.delivery
    cursor.execute(
        """
        INSERT INTO bounce AS held (provider_id, subscriber_id, type, inactive, at, description,
                                    issue_id, version)
        SELECT %(bounce)s, %(reader)s, %(type)s, %(inactive)s, %(at)s, %(description)s,
               %(issue)s, %(version)s
        WHERE %(bounce)s::text IS NOT NULL OR NOT EXISTS (
            SELECT FROM bounce
            WHERE subscriber_id = %(reader)s AND type = %(type)s AND at = %(at)s)
        ON CONFLICT (provider_id) WHERE provider_id IS NOT NULL DO UPDATE
        SET inactive = held.inactive OR excluded.inactive, at = least(held.at, excluded.at),
            issue_id = coalesce(held.issue_id, excluded.issue_id),
            version = coalesce(held.version, excluded.version)
        """,
        {
            "bounce": event.bounce,
            "reader": reader.pk,
            "type": event.kind,
            "inactive": event.inactive,
            "at": event.at,
            "description": event.description,
            "issue": delivery.issue if delivery else None,
            "version": delivery.version if delivery else None,
        },
    )


def _soft_bounces_are_enough_at(cursor: CursorWrapper, reader: Subscriber) -> datetime | None:
    """Return the time of the bounce that reached the limit; None below the limit.

    Only bounces within `WITHIN_DAYS` count.

    The count starts anew with an opt-in, and with the lifting of a bounce.
    """
    starts = [one.at for one in (reader.opt_in, last_lifting(reader)) if one is not None]
    cursor.execute(
        """
        WITH soft AS (
            SELECT at, issue_id, version FROM bounce
            WHERE subscriber_id = %(reader)s AND type = ANY(%(types)s) AND issue_id IS NOT NULL
              AND at > coalesce(%(since)s::timestamptz, '-infinity')
        )
        SELECT min(at) FROM soft AS latest
        WHERE (SELECT count(DISTINCT (issue_id, version)) FROM soft
               WHERE soft.at <= latest.at
                 AND soft.at >= latest.at - make_interval(days => %(days)s)) >= %(enough)s
        """,
        {
            "reader": reader.pk,
            "types": bounce_types(BounceMeaning.COUNTED),
            "since": max(starts, default=None),
            "days": WITHIN_DAYS,
            "enough": SOFT_BOUNCES,
        },
    )
    at: datetime | None = cursor.fetchone()[0]
    return at
