"""The hooks by which delivery asks about readers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.conf import settings
from django.db import connection

from delivery.interface import ProviderEvent
from delivery.models import Edition
from delivery.models.delivery import Outcome
from subscribers import reserve_ids
from subscribers.links import request_token
from subscribers.links.request_token import Request
from subscribers.links.unsubscribe_token import tokens_for
from subscribers.models import Subscriber, Suppression
from subscribers.suppression import apply_provider_events

# One row for everybody who may not be mailed, none for the many who may. Raw because the ORM
# cannot join from a list of ids to rows that may be missing. Whoever left is `withdrawn` even if
# their address is also suppressed: their own word is the better reason. A batch holds readers who
# stand side by side on the list: with the range named, only their part of it is ever read.
NO_LONGER_MAILABLE = """
    SELECT recipient,
           CASE WHEN subscriber.id IS NULL OR subscriber.state = 'unsubscribed' THEN %s
                ELSE %s END
      FROM unnest(%s::bigint[]) AS recipient
      LEFT JOIN subscriber ON subscriber.id = recipient AND subscriber.id BETWEEN %s AND %s
     WHERE subscriber.id IS NULL
        OR subscriber.state IN ('unsubscribed', 'bounced', 'complained')
        OR EXISTS (SELECT FROM suppression
                   WHERE address_key = subscriber.email_key AND lifted_at IS NULL)
"""


# Mail on request goes to whoever asked for it: for somebody who left, bounced or complained it is
# the only way back, and for anybody the way to what is held about them. An operator's block
# keeps it from an address. So does a suppression by an import, if the reader never asked here: only
# another import has named them. The provider keeps a list of its own for the stream.
NOT_TO_BE_MAILED_ON_REQUEST = """
    SELECT recipient, CASE WHEN subscriber.id IS NULL THEN %s ELSE %s END
      FROM unnest(%s::bigint[]) AS recipient
      LEFT JOIN subscriber ON subscriber.id = recipient AND subscriber.id BETWEEN %s AND %s
     WHERE subscriber.id IS NULL
        OR EXISTS (SELECT FROM suppression
                   WHERE address_key = subscriber.email_key AND lifted_at IS NULL
                     AND (origin = 'operator'
                          OR origin = 'import' AND NOT EXISTS (
                             SELECT FROM consent_record
                              WHERE subscriber_id = subscriber.id
                                AND (act = 'record asked' OR act = 'asked'
                                     AND how IN ('form', 'embedded form')))))
"""

# Locked in one order, so that two batches that settle at once cannot block each other.
MARK_REFUSED = """
    WITH refused AS (
        SELECT id FROM subscriber
         WHERE id = ANY(%(recipients)s) AND state = ANY(%(mailable)s)
         ORDER BY id FOR UPDATE
    ), marked AS (
        UPDATE subscriber SET state = 'bounced'
          FROM refused WHERE subscriber.id = refused.id
        RETURNING subscriber.id
    )
    INSERT INTO consent_record (subscriber_id, act, how, detail)
    SELECT id, 'bounced', 'provider', %(why)s FROM marked
"""
REFUSED_AS_SENT = "refused when a mail was handed over"


class RegisteredReaders:
    """Implements `delivery.hooks.readers.Readers`; `newsletter_site` registers it."""

    def no_longer_mailable(self, recipients: Sequence[int], kind: str) -> Mapping[int, str]:
        """
        Who of `recipients` may not be sent mail of this kind now, in one query: id → outcome.

        `withdrawn`: is no longer held here, or of the newsletter: left. `suppressed`: an operator
        shut the address out, or of the newsletter: it bounced, complained, or stands on the
        suppression list at all. A pending reader is not named: nobody publishes to them.
        """
        if not recipients:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(
                NO_LONGER_MAILABLE
                if kind == Edition.Kind.NEWSLETTER
                else NOT_TO_BE_MAILED_ON_REQUEST,
                [
                    Outcome.WITHDRAWN.value,
                    Outcome.SUPPRESSED.value,
                    # As text: the driver would look up how to write each of them.
                    f"{{{','.join(map(str, recipients))}}}",
                    min(recipients),
                    max(recipients),
                ],
            )
            return dict(cursor.fetchall())

    def suppressed_among(self, addresses: Sequence[str]) -> Collection[str]:
        """Which of these addresses are on the suppression list, however they are written."""
        listed = set(
            Suppression.objects.filter(
                address_key__in=[address.lower() for address in addresses], lifted_at=None
            ).values_list("address_key", flat=True)
        )
        return {address for address in addresses if address.lower() in listed}

    def mark_refused(self, recipients: Sequence[int], kind: str) -> None:
        """
        Mark readers `bounced` whose address the provider refuses, each with a line in the ledger.
        Runs in the caller's transaction; who left or complained keeps that state.

        Where mail on request was refused, only who never confirmed: a confirmed reader gets the
        newsletter at that address, over another stream, and loses it only by what happens there.
        """
        mailable = [Subscriber.State.PENDING]
        if kind == Edition.Kind.NEWSLETTER:
            mailable.append(Subscriber.State.CONFIRMED)
        with connection.cursor() as cursor:
            cursor.execute(
                MARK_REFUSED,
                {"recipients": list(recipients), "mailable": mailable, "why": REFUSED_AS_SENT},
            )

    def apply_events(self, events: Sequence[ProviderEvent]) -> None:
        """Apply what the provider told: `subscribers/suppression/apply_provider_events.py`."""
        apply_provider_events.apply_events(events)

    def reader_at(self, address: str) -> int | None:
        """Whose address this is, however it is written."""
        return (
            Subscriber.objects.filter(email_key=address.lower())
            .values_list("id", flat=True)
            .first()
        )

    def unsubscribe_urls(self, recipients: Sequence[int]) -> list[str]:
        """
        Where each of these readers leaves with one click: absolute addresses that never redirect.
        """
        # Not reverse(): one is made for every copy of an issue. A test holds them equal.
        place = f"{settings.SITE_URL}/unsubscribe/"
        return [f"{place}{token}/" for token in tokens_for(recipients)]

    def mail_link(self, kind: str, recipient: int, version: int) -> str:
        """Where a mail on request leads: the page to confirm on, or the one of the record."""
        token = request_token.token_for(kind, Request(recipient, version))
        if kind == Edition.Kind.CONFIRMATION:
            return f"{settings.SITE_URL}/subscriptions/confirm/?subscription_token={token}"
        return f"{settings.SITE_URL}/record/{token}/"

    def reserve_ids(self) -> None:
        """Have what is given out to readers jump (`subscribers/reserve_ids.py`)."""
        reserve_ids.reserve_ids()
