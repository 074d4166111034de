"""
Confirming: the only place that makes somebody a reader by their own consent.

A link in a mail leads to one button; pressing it is the consent. The link names the reader and
which of their requests it answers. Whoever has gone since that request is not brought back by it:
they have to ask anew. A trigger holds the same (`migrations/subscribers/0002_rules_of_consent.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from django.db import transaction
from django.db.models.functions import Now

from delivery.interface import queue_suppression_change
from delivery.models import Edition
from subscribers.consent import consent_ledger
from subscribers.data_requests.erasure_hash import erased_among
from subscribers.links.request_token import read
from subscribers.models import ConsentRecord, Subscriber, Suppression
from subscribers.models.consent_record import Act, How


class Standing(Enum):
    """How a link to confirm stands."""

    OPEN = "one press confirms"
    DONE = "confirmed already"
    STALE = "it is too old: they have to sign up again"


@dataclass(frozen=True, slots=True)
class Link:
    """Where a link leads to: how it stands, and whose it is; None if they are not here any more."""

    standing: Standing
    reader: Subscriber | None


def look_at(token: str) -> Link | None:
    """How this link stands now; None if we never gave it out. Changes nothing."""
    request = read(Edition.Kind.CONFIRMATION, token)
    if request is None:
        return None
    reader = Subscriber.objects.filter(pk=request.recipient).first()
    return Link(_standing(reader, request.number)[0], reader)


def confirm(token: str, *, network: str, wording: str) -> Link | None:
    """
    Confirm, once, and say how the link stands after that; None if we never gave it out.

    `DONE`: they are a reader, by this press or an earlier one. `STALE`: nothing was changed.
    """
    request = read(Edition.Kind.CONFIRMATION, token)
    if request is None:
        return None
    with transaction.atomic():
        # Two presses at once: the second waits here, and finds what the first has done.
        reader = Subscriber.objects.select_for_update().filter(pk=request.recipient).first()
        standing, asked = _standing(reader, request.number)
        if reader is None or asked is None or standing is not Standing.OPEN:
            return Link(standing, reader)
        _make_a_reader(reader, asked, network, wording)
        return Link(Standing.DONE, reader)


def standing_of(
    state: str,
    gone_at: datetime | None,
    request: int,
    asked: ConsentRecord | None,
    last_confirmed: int | None,
) -> Standing:
    """
    How the link of this request stands. Pure.

    `asked` is the line of the ledger by which the mail was asked for; `last_confirmed` the number
    of the latest request that was confirmed.
    """
    is_reader = state == Subscriber.State.CONFIRMED
    if last_confirmed is not None and request <= last_confirmed:
        return Standing.DONE if is_reader else Standing.STALE
    if asked is None:
        return Standing.DONE if is_reader else Standing.STALE
    if gone_at is None:
        return Standing.OPEN
    asked_themselves = asked.act == Act.ASKED and asked.how in (How.FORM, How.EMBEDDED_FORM)
    return Standing.OPEN if asked_themselves and asked.at >= gone_at else Standing.STALE


def _standing(reader: Subscriber | None, request: int) -> tuple[Standing, ConsentRecord | None]:
    """How a link stands, and the line of the ledger by which its mail was asked for."""
    if reader is None or request < 1:
        return Standing.STALE, None
    lines = ConsentRecord.objects.filter(subscriber=reader)
    asked = lines.filter(act__in=[Act.ASKED, Act.IMPORTED], request=request).first()
    confirmed = lines.filter(act=Act.CONFIRMED).order_by("-request").first()
    last_confirmed = confirmed.request if confirmed else None
    standing = standing_of(reader.state, reader.gone_at, request, asked, last_confirmed)
    return standing, asked


def _make_a_reader(reader: Subscriber, asked: ConsentRecord, network: str, wording: str) -> None:
    """Write down the consent and all that follows from it, in the caller's transaction."""
    consent_id = consent_ledger.record(
        reader.pk,
        Act.CONFIRMED,
        How.LINK,
        network=network,
        wording=wording,
        request=asked.request,
        name=asked.name,
    )
    Subscriber.objects.filter(pk=reader.pk).update(
        state=Subscriber.State.CONFIRMED,
        opt_in=consent_id,
        confirmed_at=Now(),
        unsubscribed_at=None,
        # Anybody can type a name beside an address; now it is the person themselves who did.
        name=asked.name or reader.name,
    )
    shut_out = Suppression.objects.filter(address_key=reader.email_key, lifted_at=None)
    # What came about after the press is news, and stays. What an operator shut out, too.
    at = ConsentRecord.objects.values_list("at", flat=True).get(pk=consent_id)
    lifted = (
        shut_out.exclude(origin=Suppression.Origin.OPERATOR)
        .filter(at__lte=at)
        .update(lifted_at=Now(), lifted_by=consent_id)
    )
    had_gone = reader.gone_at is not None
    # What stood here of somebody who was erased is gone; what the provider was told is not.
    came_back = had_gone or lifted or erased_among([reader.email_key])
    if came_back and not shut_out.exists():
        # It was told of a bounce, a complaint or their leaving, and would go on refusing them.
        queue_suppression_change(reader.email, "reactivate")
