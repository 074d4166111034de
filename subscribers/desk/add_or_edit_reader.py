"""Add or edit one reader, or correct the address, and record which user did it.

If an added address is already on the list, its reader does not change.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.utils.translation import gettext as _
from psycopg.types.json import Jsonb

from delivery.interface import LOCK_ENQUEUE
from delivery.models import Edition
from delivery.reader_fields import FIELD_COLUMNS, FIELD_NAMES
from subscribers.consent.consent_log import ADDRESS_CORRECTED, columns_of, record_consent
from subscribers.data_requests.erase import erased_among
from subscribers.fields.find_tags import lock_tags
from subscribers.leaving.leave import leave
from subscribers.models import Subscriber, Suppression
from subscribers.models.consent_record import Act, How
from subscribers.record_activity import record_reader_activity
from subscribers.refusal_sentences import InputRefusal, refuse
from subscribers.request_limits import ask_for_mail

Source = Subscriber.Source
Reason = Suppression.Reason
GONE = (Subscriber.State.UNSUBSCRIBED, Subscriber.State.BOUNCED, Subscriber.State.COMPLAINED)

# Do not use create(): after a unique violation, the database server would log the address.
INSERT = f"""
    INSERT INTO subscriber (email, {FIELD_COLUMNS}, fields, tags, left_topics, state, source,
                            confirmed_at)
    SELECT %(email)s, {", ".join(f"%({name})s" for name in FIELD_NAMES)}, %(fields)s,
           tags_with_1('{{}}', %(left_topics)s, %(tags)s), %(left_topics)s, %(state)s, %(source)s,
           CASE WHEN %(state)s = 'confirmed' THEN statement_timestamp() END
    ON CONFLICT (email_key) DO NOTHING
    RETURNING id
"""


EditResult = Literal["saved", "unchanged", "changed_meanwhile", "gone"]


class AddResult(NamedTuple):
    """The result of adding a reader. `reason` says why an address was skipped."""

    result: Literal["added", "known", "skipped"]
    reader: Subscriber | None
    reason: InputRefusal | None = None


def add_reader(
    address: str,
    values: Mapping[str, str],
    *,
    by: Any,
    consent: str = "",
    tags: Sequence[int] = (),
    source: Source = Source.API,
) -> AddResult:
    """Add a reader for the user `by`, and return the result.

    If `consent` states where the reader gave consent, the new reader is confirmed.
    """
    is_call = source == Source.API
    how, user = How.API if is_call else How.OPERATOR, by.get_full_name() or by.get_username()
    key = address.lower()
    with transaction.atomic(), connection.cursor() as cursor:
        # Take this lock first. Without this lock, an address that is being erased at the same time
        # could be added again.
        cursor.execute(LOCK_ENQUEUE)
        known = Subscriber.objects.filter(email_key=key).first()
        if reason := skip_reason(known, key):
            return AddResult("skipped", known, reason)
        if known is not None:
            return AddResult("known", known)
        state = Subscriber.State.CONFIRMED if consent else Subscriber.State.PENDING
        own = lock_tags(tags)
        reader = _insert(address, values, state=state, source=source, tags=own)
        if reader is None:
            return AddResult("known", Subscriber.objects.filter(email_key=key).first())
        if consent:
            sentence = _("Consent given elsewhere, stated by {name}: {statement}")
            detail = sentence.format(name=user, statement=consent)
            record_consent(reader.pk, Act.STATED, how, values=values, detail=detail)
        else:
            detail = _("Requested by {name}.").format(name=user)
            _ask_for_consent(reader, how, values, detail)
        record_reader_activity("add_by_program" if is_call else "add", by.pk, reader.pk)
        return AddResult("added", reader)


def last_edit(reader: Subscriber) -> str:
    """Return the time of a reader's last edit as text for a form; empty if unedited."""
    return reader.edited_at.isoformat() if reader.edited_at else ""


def edit_reader(
    subscriber_id: int,
    values: Mapping[str, str],
    tags: Sequence[int] | None = None,
    *,
    by: UUID,
    seen: str | None = None,
) -> EditResult:
    """Save the values of a reader's fields, and the tags unless `tags` is None.

    `seen` is the reader's `last_edit` at the time when the form showed the values. If the reader
    was edited after the form was opened, nothing is saved. A topic that the reader left is not
    added.
    """
    with transaction.atomic():
        readers = Subscriber.objects.filter(pk=subscriber_id)
        reader = readers.select_for_update().first()
        if reader is None:
            return "gone"
        if seen not in (None, last_edit(reader)):
            return "changed_meanwhile"
        chosen = reader.tags if tags is None else lock_tags({*tags} - {*reader.left_topics})
        columns = {**columns_of({**reader.values_of_fields, **values}), "tags": chosen}
        if all(getattr(reader, name) == value for name, value in columns.items()):
            return "unchanged"
        readers.update(**columns)
        record_reader_activity("edit", by, subscriber_id)
        return "saved"


def correct_address(subscriber_id: int, address: str, *, by: UUID) -> Subscriber | InputRefusal:
    """Move a reader to another address, as a new, pending reader.

    The reader at the old address is unsubscribed. The new address gets a confirmation mail, because
    the address may belong to another person. Deliveries and records of consent stay with the old
    reader (docs/decisions/0039-a-corrected-address.md).
    """
    key = address.lower()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LOCK_ENQUEUE)
        old = Subscriber.objects.select_for_update().filter(pk=subscriber_id).first()
        if old is None:
            return refuse("reader_erased_meanwhile")
        if old.email_key == key:
            return refuse("address_unchanged")
        if reason := why_address_stays(old):
            return reason
        known = Subscriber.objects.filter(email_key=key).first()
        if reason := skip_reason(known, key):
            return reason
        values, groups = old.values_of_fields, {"tags": old.tags, "left_topics": old.left_topics}
        state, source = Subscriber.State.PENDING, Source.DESK
        if (new := _insert(address, values, state=state, source=source, **groups)) is None:
            return refuse("address_known")
        detail = f"{ADDRESS_CORRECTED}{old.pk}"
        _ask_for_consent(new, How.OPERATOR, values, detail)
        leave(old.pk, How.OPERATOR, detail=f"{ADDRESS_CORRECTED}{new.pk}")
        record_reader_activity("correct_address", by, old.pk, other=new.pk)
        record_reader_activity("add", by, new.pk)
        return new


def why_address_stays(reader: Subscriber) -> InputRefusal | None:
    """Return the reason why no author may correct the address of this reader."""
    if reader.unsubscribed_at is not None or reader.state == Subscriber.State.COMPLAINED:
        return refuse("address_of_leaver")
    # The state of a reader does not show every unsubscribe. If an imported file says that a pending
    # reader left, the reader stays pending but is suppressed.
    left = Suppression.objects.filter(address_key=reader.email_key, lifted_at=None)
    if left.filter(reason__in=[Reason.UNSUBSCRIBE, Reason.COMPLAINT]).exists():
        return refuse("address_of_leaver")
    return None


def skip_reason(known: Subscriber | None, key: str) -> InputRefusal | None:
    """Return the reason for skipping an address; None if it may be added."""
    # Check first whether the reader left, because this reason explains more than a suppression.
    if known is not None and known.state in GONE:
        return refuse(f"reader_{known.state}")
    suppression = Suppression.objects.filter(address_key=key, lifted_at=None).first()
    if suppression is not None:
        return refuse(f"suppressed_{suppression.reason}")
    # An erased reader who signed up again is a known reader, and is not skipped as erased.
    return refuse("erased") if known is None and erased_among([key]) else None


def _ask_for_consent(reader: Subscriber, how: How, values: Mapping[str, str], detail: str) -> None:
    kind = Edition.Kind.CONFIRMATION
    ask_for_mail(reader, kind, Act.ASKED, how, values=values, detail=detail)


def _insert(
    address: str,
    values: Mapping[str, str],
    *,
    state: str,
    source: str,
    tags: Sequence[int],
    left_topics: Sequence[int] = (),
) -> Subscriber | None:
    """Insert the reader's row; return None if another reader has the address."""
    columns = columns_of({**dict.fromkeys(FIELD_NAMES, ""), **values})
    columns |= {"fields": Jsonb(columns["fields"]), "tags": [*tags], "left_topics": [*left_topics]}
    with connection.cursor() as cursor:
        cursor.execute(INSERT, {**columns, "email": address, "state": state, "source": source})
        row = cursor.fetchone()
    return Subscriber.objects.get(pk=row[0]) if row else None
