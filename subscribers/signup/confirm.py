"""Confirmation: visitors become readers by their own consent."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from django.contrib.postgres.fields import ArrayField
from django.db import transaction
from django.db.models import Func, IntegerField, Value
from django.db.models.functions import Now

from delivery.interface import enqueue_welcome, queue_suppression_change
from delivery.models import Edition
from delivery.reader_fields import FIELD_NAMES
from subscribers.consent.consent_log import columns_of, record_consent
from subscribers.data_requests.erase import erased_among
from subscribers.fields.own_fields import load_own_fields
from subscribers.links.request_token import read
from subscribers.models import ConsentRecord, Subscriber, Suppression, Tag
from subscribers.models.consent_record import OF_FORMS, Act, How

_TAGS = ArrayField(IntegerField())


class LinkState(StrEnum):
    """The state of a link; each value is the name of the template that is shown."""

    OPEN = "confirm"
    DONE = "confirmed"
    STALE = "confirm_link_too_old"


class ConfirmationLink(NamedTuple):
    """The state of a link, its reader, and the reader's values by field name."""

    state: LinkState
    reader: Subscriber | None
    values: Mapping[str, str]


def open_link(
    token: str, values: Mapping[str, str] | None = None, **consent: str
) -> ConfirmationLink | None:
    """Return a link's state, and its reader if any; None if the token is unknown.

    If `consent` (the network and the wording) is given and the state is OPEN, confirm the reader
    with the `values` that the reader entered beside the button. An empty value removes a value. A
    field that is not in `values` keeps the value from the sign-up form.
    """
    request = read(Edition.Kind.CONFIRMATION, token)
    if request is None:
        return None
    with transaction.atomic():
        # If the button is pressed twice, the second request waits here for the result of the first.
        readers = Subscriber.objects.select_for_update() if consent else Subscriber.objects.all()
        reader = readers.filter(pk=request.recipient).first()
        state, asked = _state_and_record(reader, request.number)
        if consent and reader is not None and asked is not None and state is LinkState.OPEN:
            is_new = reader.opt_in_id is None or reader.state != Subscriber.State.CONFIRMED
            _make_a_reader(reader, asked, values or {}, consent)
            reader.refresh_from_db()
            if is_new:  # a reader who is confirmed already gets no welcome letter
                welcomed = (reader.pk, reader.email, reader.name, reader.fields)
                enqueue_welcome([welcomed], opt_in=request.number, asked_at=asked.at)
            state = LinkState.DONE
    return ConfirmationLink(state, reader, _known_values(reader, asked) if reader else {})


def link_state(
    state: str,
    gone_at: datetime | None,
    request: int,
    asked: ConsentRecord | None,
    last_confirmed: int | None,
) -> LinkState:
    """Return the state of a link. `asked` is the consent record of the request."""
    is_answered = last_confirmed is not None and request <= last_confirmed
    if is_answered or asked is None:
        return LinkState.DONE if state == Subscriber.State.CONFIRMED else LinkState.STALE
    if gone_at is None:
        return LinkState.OPEN
    asked_themselves = asked.act == Act.ASKED and asked.how in OF_FORMS
    return LinkState.OPEN if asked_themselves and asked.at >= gone_at else LinkState.STALE


def _state_and_record(
    reader: Subscriber | None, request: int
) -> tuple[LinkState, ConsentRecord | None]:
    if reader is None or request < 1:
        return LinkState.STALE, None
    records = ConsentRecord.objects.filter(subscriber=reader)
    asked = records.filter(act__in=[Act.ASKED, Act.IMPORTED], request=request).first()
    confirmed = records.filter(act=Act.CONFIRMED).order_by("-request").first()
    last_confirmed = confirmed.request if confirmed else None
    return link_state(reader.state, reader.gone_at, request, asked, last_confirmed), asked


def _known_values(reader: Subscriber, asked: ConsentRecord | None) -> dict[str, str]:
    """Return the reader's values; a value typed into the sign-up form comes first."""
    typed = asked.values_of_fields if asked else {}
    return reader.values_of_fields | {name: value for name, value in typed.items() if value}


def _make_a_reader(
    reader: Subscriber,
    asked: ConsentRecord,
    entered: Mapping[str, str],
    consent: Mapping[str, Any],
) -> None:
    """Record the consent and its effects, in the caller's transaction."""
    consent_id = record_consent(
        reader.pk,
        Act.CONFIRMED,
        How.LINK,
        request=asked.request,
        values={**asked.values_of_fields, **entered},
        tags=asked.tags,
        **consent,
    )
    # The author may have deleted a field or a tag since the visitor signed up.
    keys = {*FIELD_NAMES, *reader.fields, *(field.name for field in load_own_fields())}
    values = {**_known_values(reader, asked), **entered}
    columns = columns_of({key: value for key, value in values.items() if key in keys})
    tags = Tag.objects.filter(id__in=asked.tags).values_list("id", flat=True)
    Subscriber.objects.filter(pk=reader.pk).update(
        state=Subscriber.State.CONFIRMED,
        opt_in=consent_id,
        confirmed_at=Now(),
        unsubscribed_at=None,
        # Anyone can type a name next to somebody's address. The reader gets this name only by
        # confirming.
        **columns,
        # A form does not bring a reader back to a topic that they left, because visitors do not see
        # the form's tags.
        tags=Func("tags", "left_topics", Value(list(tags), _TAGS), function="tags_with_1"),
    )
    suppressions = Suppression.objects.filter(address_key=reader.email_key, lifted_at=None)
    # Lift only suppressions that are older than this consent, and no operator's block.
    at = ConsentRecord.objects.values_list("at", flat=True).get(pk=consent_id)
    earlier = suppressions.exclude(origin=Suppression.Origin.OPERATOR).filter(at__lte=at)
    lifted = earlier.update(lifted_at=Now(), lifted_by=consent_id)
    had_gone = reader.gone_at is not None
    # Homing stores no suppression of an erased reader, but the provider may still suppress the
    # address.
    came_back = had_gone or lifted or erased_among([reader.email_key])
    if came_back and not suppressions.exists():
        # The provider may still refuse mail because of the old bounce, complaint or unsubscribe.
        queue_suppression_change(reader.email, "reactivate")
