"""Add one reader, as the API does. Like an import it only ever adds."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from django.db import connection, transaction

from delivery.interface import LOCK_ENQUEUE
from delivery.models import Edition
from delivery.reader_fields import FIELD_COLUMNS, FIELD_NAMES
from subscribers.consent.consent_log import record_consent
from subscribers.data_requests.erase import erased_among
from subscribers.models import Subscriber, Suppression
from subscribers.models.consent_record import Act, How
from subscribers.refusal import InputRefusal, refuse
from subscribers.request_limits import ask_for_mail

GONE = (Subscriber.State.UNSUBSCRIBED, Subscriber.State.BOUNCED, Subscriber.State.COMPLAINED)

# Not create(): a unique violation would put the address into the server's log.
INSERT = f"""
    INSERT INTO subscriber (email, {FIELD_COLUMNS}, state, source, confirmed_at)
    SELECT %s, {", ".join(["%s"] * len(FIELD_NAMES))}, %s, %s,
           CASE WHEN %s THEN statement_timestamp() END
    ON CONFLICT (email_key) DO NOTHING
    RETURNING id
"""


class AddResult(NamedTuple):
    """The result, the reader if there is one, and why they were skipped."""

    result: Literal["added", "known", "skipped"]
    reader: Subscriber | None
    reason: InputRefusal | None = None


def add_reader(
    address: str, values: Mapping[str, str], *, stated_by: str, consent: str = ""
) -> AddResult:
    """Add one reader for `stated_by`; they are confirmed if `consent` says where they gave it."""
    key = address.lower()
    with transaction.atomic(), connection.cursor() as cursor:
        # A reader who is erased at this moment would be added anew.
        cursor.execute(LOCK_ENQUEUE)
        known = Subscriber.objects.filter(email_key=key).first()
        if reason := skip_reason(known, key):
            return AddResult("skipped", known, reason)
        if known is not None:
            return AddResult("known", known)
        reader = _insert(address, values, is_confirmed=bool(consent))
        if reader is None:
            return AddResult("known", Subscriber.objects.filter(email_key=key).first())
        if consent:
            detail = f"Consent was given elsewhere, says {stated_by}: {consent}"
            record_consent(reader.pk, Act.STATED, How.API, values=values, detail=detail)
        else:
            detail = f"{stated_by} asked for it"
            confirmation = Edition.Kind.CONFIRMATION
            ask_for_mail(reader, confirmation, Act.ASKED, How.API, values=values, detail=detail)
        return AddResult("added", reader)


def skip_reason(known: Subscriber | None, key: str) -> InputRefusal | None:
    """Why this reader is not added, in the codes of imports; None if they may be."""
    # What the reader did explains more than why the address is suppressed, so it comes first.
    if known is not None and known.state in GONE:
        return refuse(f"reader_{known.state}")
    suppression = Suppression.objects.filter(address_key=key, lifted_at=None).first()
    if suppression is not None:
        return refuse(f"suppressed_{suppression.reason}")
    # An erased reader who has signed up again since is known like anybody else.
    return refuse("erased") if known is None and erased_among([key]) else None


def _insert(address: str, values: Mapping[str, str], *, is_confirmed: bool) -> Subscriber | None:
    """The new row; None if another transaction added the reader at the same moment."""
    state = Subscriber.State.CONFIRMED if is_confirmed else Subscriber.State.PENDING
    fields = [values[name] for name in FIELD_NAMES]
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [address, *fields, state, Subscriber.Source.API, is_confirmed])
        row = cursor.fetchone()
    return Subscriber.objects.get(pk=row[0]) if row else None
