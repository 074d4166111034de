"""
What the provider told of an address, taken in: the reader's state, the suppression, the ledger.

Every fact can come twice, and in any order; the rows in the end are the same. So the gravest of
states and of reasons stays, of times the earliest, and each bounce and each act stands once. What
is older than a reader's own opt-in is over: they have confirmed since that they can be reached and
want to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.interface import Bounced, BounceMeaning, ProviderEvent, Suppressed, bounce_types
from delivery.retention.anonymise import forget_address
from subscribers.data_requests.erasure_hash import erased_among
from subscribers.models import ConsentRecord, Subscriber, Suppression
from subscribers.models.consent_record import Act, How

# So many copies that came back within so many days say that an address takes no mail any more.
SOFT_BOUNCES = 5
WITHIN_DAYS = 30

State = Subscriber.State
Reason = Suppression.Reason
GRAVER = (State.PENDING, State.CONFIRMED, State.BOUNCED, State.UNSUBSCRIBED, State.COMPLAINED)


@dataclass(frozen=True, slots=True)
class _Effect:
    """What a fact comes to: the state it leads to, if any, why the address is shut out, the act."""

    state: str | None
    reason: Reason
    act: Act


_EFFECTS = {
    BounceMeaning.BOUNCED: _Effect(State.BOUNCED, Reason.BOUNCE, Act.BOUNCED),
    BounceMeaning.LEFT: _Effect(State.UNSUBSCRIBED, Reason.UNSUBSCRIBE, Act.LEFT),
    BounceMeaning.COMPLAINED: _Effect(State.COMPLAINED, Reason.COMPLAINT, Act.COMPLAINED),
}
# Somebody of our account, or Postmark itself, shut the address out: no word of the reader's own.
_SHUT_OUT = _Effect(None, Reason.MANUAL, Act.SHUT_OUT)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A reader's row, locked. `opted_in_at`: when they last confirmed themselves, if ever."""

    id: int
    state: str
    opt_in: int | None
    opted_in_at: datetime | None


def take_in(facts: Sequence[ProviderEvent]) -> None:
    """Take in facts, in the caller's transaction. One of a delivery or a reactivation is nothing
    to a list: nobody comes back by it."""
    with connection.cursor() as cursor:
        for fact in facts:
            if isinstance(fact, Bounced | Suppressed):
                _take_in(cursor, fact)


def reasons_told_of(reader: Subscriber) -> list[Reason]:
    """
    Why the provider or an import suppresses this reader, since their last opt-in.

    The ledger knows it even if the suppression list shows an operator's block in its place.
    """
    told = ConsentRecord.objects.filter(
        subscriber=reader, how__in=(How.PROVIDER, How.IMPORT), id__gt=reader.opt_in_id or 0
    )
    acts = set(told.values_list("act", flat=True))
    reasons = [effect.reason for effect in _EFFECTS.values() if effect.act in acts]
    if told.filter(act=Act.SHUT_OUT, how=How.IMPORT).exists():
        reasons.append(Reason.MANUAL)
    return reasons


def _take_in(cursor: CursorWrapper, fact: Bounced | Suppressed) -> None:
    at = fact.at
    assert at is not None  # noqa: S101 -- delivery gives every fact a time before it tells it
    reader = _lock_reader(cursor, fact)
    if reader is None and erased_among([fact.address_key]):
        # It came late. What it tells of is nobody's any more, and would bring the address back.
        forget_address(fact.address_key)
        return
    effect = _EFFECTS.get(fact.meaning)
    if isinstance(fact, Bounced):
        if reader is not None:
            _keep_bounce(cursor, reader, fact)
            if effect is None:
                enough_at = _soft_bounces_are_enough_at(cursor, reader)
                if enough_at is not None:
                    effect, at = _EFFECTS[BounceMeaning.BOUNCED], enough_at
    elif effect is None and not fact.is_our_own:
        effect = _SHUT_OUT
    if effect is None:
        return
    if reader is not None:
        if reader.opted_in_at is not None and at <= reader.opted_in_at:
            return
        _change_state(cursor, reader, effect, at)
        _put_on_record(cursor, reader, effect, at, fact)
    _suppress(cursor, fact.address_key, effect.reason, at)


def _lock_reader(cursor: CursorWrapper, fact: ProviderEvent) -> _Reader | None:
    """The reader of the copy it names, or else whoever has the address."""
    whom = fact.delivery.recipient if fact.delivery else None
    cursor.execute(
        """
        SELECT id FROM subscriber
        WHERE id = coalesce((SELECT id FROM subscriber WHERE id = %s),
                            (SELECT id FROM subscriber WHERE email_key = %s))
        FOR NO KEY UPDATE
        """,
        [whom, fact.address_key],
    )
    row = cursor.fetchone()
    if row is None:
        return None
    # Looked at once it is held: an opt-in that was waited for is not to be seen by the statement
    # that waited.
    cursor.execute(
        """
        SELECT subscriber.id, state, opt_in_id, consent_record.at
        FROM subscriber LEFT JOIN consent_record ON consent_record.id = opt_in_id
        WHERE subscriber.id = %s
        """,
        row,
    )
    return _Reader(*cursor.fetchone())


def _change_state(cursor: CursorWrapper, reader: _Reader, effect: _Effect, at: datetime) -> None:
    is_graver = effect.state is not None and GRAVER.index(effect.state) > GRAVER.index(reader.state)
    has_left = effect.act is Act.LEFT
    if not (is_graver or has_left):
        return
    cursor.execute(
        """
        UPDATE subscriber
        SET state = %s,
            unsubscribed_at = CASE WHEN %s THEN least(unsubscribed_at, %s) ELSE unsubscribed_at END
        WHERE id = %s
        """,
        [effect.state if is_graver else reader.state, has_left, at, reader.id],
    )


def _put_on_record(
    cursor: CursorWrapper,
    reader: _Reader,
    effect: _Effect,
    at: datetime,
    fact: Bounced | Suppressed,
) -> None:
    """Each act once since the last opt-in: bounces go on coming, and say nothing new by that."""
    detail = fact.kind if isinstance(fact, Bounced) else f"{fact.reason} by {fact.origin}"
    cursor.execute(
        """
        INSERT INTO consent_record (subscriber_id, act, how, at, detail)
        SELECT %(reader)s, %(act)s, 'provider', %(at)s, %(detail)s
        WHERE NOT EXISTS (
            SELECT FROM consent_record
            WHERE subscriber_id = %(reader)s AND act = %(act)s AND id > coalesce(%(opt_in)s, 0))
        """,
        {
            "reader": reader.id,
            "act": effect.act.value,
            "at": at,
            "detail": detail,
            "opt_in": reader.opt_in,
        },
    )


def _suppress(cursor: CursorWrapper, address_key: str, reason: Reason, at: datetime) -> None:
    """
    Shut the address out. Of two reasons the graver stays; one that was lifted counts again only
    for what came after. What an operator let in was the operator's own word, and is over nothing
    that was told by others.
    """
    cursor.execute(
        """
        INSERT INTO suppression AS held (address_key, reason, origin, at)
        VALUES (%s, %s, 'provider', %s)
        ON CONFLICT (address_key) DO UPDATE
        SET (reason, origin) = (
                SELECT told.reason, told.origin
                FROM (VALUES (held.reason, held.origin, held.lifted_at IS NULL),
                             (excluded.reason, excluded.origin, true))
                     AS told (reason, origin, counts)
                WHERE counts
                ORDER BY gravity_of_suppression(told.reason, told.origin) DESC LIMIT 1),
            at = CASE WHEN held.lifted_at IS NULL THEN least(held.at, excluded.at)
                      ELSE excluded.at END,
            lifted_at = NULL, lifted_by_id = NULL
        WHERE held.lifted_at IS NULL OR held.lifted_at < excluded.at
           OR (held.lifted_by_id IS NULL AND excluded.reason <> %s)
        """,
        [address_key, reason.value, at, Reason.MANUAL.value],
    )


def _keep_bounce(cursor: CursorWrapper, reader: _Reader, fact: Bounced) -> None:
    """Keep the bounce, once by the provider's number; told again it may say more about its copy."""
    copy = fact.delivery
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
            "bounce": fact.bounce,
            "reader": reader.id,
            "type": fact.kind,
            "inactive": fact.inactive,
            "at": fact.at,
            "description": fact.description,
            "issue": copy.issue if copy else None,
            "version": copy.version if copy else None,
        },
    )


def _soft_bounces_are_enough_at(cursor: CursorWrapper, reader: _Reader) -> datetime | None:
    """
    When so many copies had come back within so many days that the address counts as dead, or None.

    Of the whole set of its bounces, whatever their order: more of them never make it later. A copy
    counts once, and what came back before the last opt-in does not.
    """
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
            "reader": reader.id,
            "types": bounce_types(BounceMeaning.COUNTED),
            "since": reader.opted_in_at,
            "days": WITHIN_DAYS,
            "enough": SOFT_BOUNCES,
        },
    )
    at: datetime | None = cursor.fetchone()[0]
    return at
