"""Add one reader for the API. Readers who are already on the list stay unchanged."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from django.db import connection, transaction
from django.utils.translation import gettext as _

from delivery.interface import LOCK_ENQUEUE
from delivery.models import Edition
from delivery.reader_fields import FIELD_COLUMNS, FIELD_NAMES
from subscribers.consent.consent_log import record_consent
from subscribers.data_requests.erase import erased_among
from subscribers.models import Subscriber, Suppression
from subscribers.models.consent_record import Act, How
from subscribers.refusal_sentences import InputRefusal, refuse
from subscribers.request_limits import ask_for_mail

GONE = (Subscriber.State.UNSUBSCRIBED, Subscriber.State.BOUNCED, Subscriber.State.COMPLAINED)

# Not create(): a unique violation would log the address on the server.
INSERT = f"""
    INSERT INTO subscriber (email, {FIELD_COLUMNS}, state, source, confirmed_at)
    SELECT %s, {", ".join(["%s"] * len(FIELD_NAMES))}, %s, %s,
           CASE WHEN %s THEN statement_timestamp() END
    ON CONFLICT (email_key) DO NOTHING
    RETURNING id
"""


class AddResult(NamedTuple):
    """The result, the reader if there is one, and the reason for skipping them."""

    result: Literal["added", "known", "skipped"]
    reader: Subscriber | None
    reason: InputRefusal | None = None


def add_reader(
    address: str, values: Mapping[str, str], *, stated_by: str, consent: str = ""
) -> AddResult:
    """Add a reader for `stated_by`; confirmed if `consent` states where they gave it."""
    key = address.lower()
    with transaction.atomic(), connection.cursor() as cursor:
        # Otherwise a reader who is being erased could be added again.
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
            sentence = _("Consent given elsewhere, stated by {name}: {statement}")
            detail = sentence.format(name=stated_by, statement=consent)
            record_consent(reader.pk, Act.STATED, How.API, values=values, detail=detail)
        else:
            detail = _("Requested by {name}.").format(name=stated_by)
            confirmation = Edition.Kind.CONFIRMATION
            ask_for_mail(reader, confirmation, Act.ASKED, How.API, values=values, detail=detail)
        return AddResult("added", reader)


def skip_reason(known: Subscriber | None, key: str) -> InputRefusal | None:
    """Return the reason for skipping a reader; None if they may be added."""
    # The reader's own act explains more than a suppression, so it comes first.
    if known is not None and known.state in GONE:
        return refuse(f"reader_{known.state}")
    suppression = Suppression.objects.filter(address_key=key, lifted_at=None).first()
    if suppression is not None:
        return refuse(f"suppressed_{suppression.reason}")
    # An erased reader who signed up again is a known reader.
    return refuse("erased") if known is None and erased_among([key]) else None


def _insert(address: str, values: Mapping[str, str], *, is_confirmed: bool) -> Subscriber | None:
    """Insert the row; None if another transaction added the reader meanwhile."""
    state = Subscriber.State.CONFIRMED if is_confirmed else Subscriber.State.PENDING
    fields = [values[name] for name in FIELD_NAMES]
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [address, *fields, state, Subscriber.Source.API, is_confirmed])
        row = cursor.fetchone()
    return Subscriber.objects.get(pk=row[0]) if row else None
