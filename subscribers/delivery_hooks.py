"""The hooks by which delivery asks about readers."""

from collections.abc import Collection, Mapping, Sequence

from django.conf import settings
from django.db import connection

from delivery.models import Edition
from delivery.models.delivery import Outcome
from subscribers.links import request_token
from subscribers.links.request_token import Request
from subscribers.links.unsubscribe_token import tokens_for
from subscribers.models import Subscriber, Suppression
from subscribers.reserve_ids import reserve_ids
from subscribers.suppression.apply_provider_events import apply_events

# Raw because the ORM cannot join a list of ids with rows that may be missing. A batch has
# neighbouring ids: with their range named, only that part of the list is read.
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
# Mail on request is the way back for a reader who is gone. An operator's block stops it. So does a
# suppression by an import, if the reader never asked here.
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

    apply_events = staticmethod(apply_events)
    reserve_ids = staticmethod(reserve_ids)

    def no_longer_mailable(self, recipients: Sequence[int], kind: str) -> Mapping[int, str]:
        """Return who may not be sent mail of this kind now: id → `withdrawn` or `suppressed`."""
        if not recipients:
            return {}
        is_newsletter = kind == Edition.Kind.NEWSLETTER
        with connection.cursor() as cursor:
            cursor.execute(
                NO_LONGER_MAILABLE if is_newsletter else NOT_TO_BE_MAILED_ON_REQUEST,
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
        """The addresses that are on the suppression list, however they are written."""
        keys = [address.lower() for address in addresses]
        found = Suppression.objects.filter(address_key__in=keys, lifted_at=None)
        listed = set(found.values_list("address_key", flat=True))
        return {address for address in addresses if address.lower() in listed}

    def mark_refused(self, recipients: Sequence[int], kind: str) -> None:
        """Mark readers `bounced` whose address the provider refuses, in the caller's transaction.
        If mail on request was refused, only unconfirmed readers change: the newsletter uses another
        stream."""
        mailable = [Subscriber.State.PENDING]
        if kind == Edition.Kind.NEWSLETTER:
            mailable.append(Subscriber.State.CONFIRMED)
        with connection.cursor() as cursor:
            cursor.execute(
                MARK_REFUSED,
                {"recipients": list(recipients), "mailable": mailable, "why": REFUSED_AS_SENT},
            )

    def reader_at(self, address: str) -> int | None:
        """The reader with this address, however it is written."""
        readers = Subscriber.objects.filter(email_key=address.lower())
        return readers.values_list("id", flat=True).first()

    def unsubscribe_urls(self, recipients: Sequence[int]) -> list[str]:
        """The one-click unsubscribe URL of each reader; absolute, and never redirected."""
        # Not reverse(): one is made for every copy of an issue. A test holds them equal.
        base_url = f"{settings.SITE_URL}/unsubscribe/"
        return [f"{base_url}{token}/" for token in tokens_for(recipients)]

    def mail_link(self, kind: str, recipient: int, version: int) -> str:
        """The link of a mail on request: to confirm, or to see personal data."""
        token = request_token.token_for(kind, Request(recipient, version))
        if kind == Edition.Kind.CONFIRMATION:
            return f"{settings.SITE_URL}/subscriptions/confirm/?subscription_token={token}"
        return f"{settings.SITE_URL}/record/{token}/"
