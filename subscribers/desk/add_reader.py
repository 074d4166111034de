"""
Adding one reader on the word of a program: the only place that does, beside imports.

It only ever adds, like an import. Who is known stays as they are; who left, bounced, complained or
was erased is left out, and only their own opt-in brings them back. Without a word that they agreed
elsewhere they are pending and get one mail that asks them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.db import connection, transaction

from delivery.interface import LOCK_ENQUEUE, request_mail
from delivery.models import Edition
from subscribers.consent import consent_ledger
from subscribers.data_requests.erasure_hash import erased_among
from subscribers.importing.apply import ERASED, WHY_SKIPPED
from subscribers.mail_quota import CONFIRMATION, NOT_MAILED, next_number
from subscribers.models import Subscriber, Suppression
from subscribers.models.consent_record import Act, How

GONE = (
    Subscriber.State.UNSUBSCRIBED,
    Subscriber.State.BOUNCED,
    Subscriber.State.COMPLAINED,
)

# Nothing that fails: a server that is left as it comes writes into its log whose address it was.
INSERT = """
    INSERT INTO subscriber (email, name, state, source, confirmed_at)
    VALUES (%s, %s, %s, %s, CASE WHEN %s THEN statement_timestamp() END)
    ON CONFLICT (email_key) DO NOTHING
    RETURNING id
"""


class Result(StrEnum):
    """What became of a reader who was to be added; the words of imports."""

    ADDED = "added"
    KNOWN = "known"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Added:
    """The result, the reader where one is held, and why they were skipped; empty if not."""

    result: Result
    reader: Subscriber | None
    why: str = ""


def add(address: str, name: str, *, says: str, agreed_elsewhere: str = "") -> Added:
    """
    Put one person onto the list, in one transaction with the ledger and the mail that asks them.

    `address` and `name` are as `read_address` and `read_name` give them. `says` is who asks for it,
    by name; `agreed_elsewhere` is where and how the person gave their consent, if they did: then
    they are confirmed, and that stands in the ledger.
    """
    key = address.lower()
    with transaction.atomic():
        with connection.cursor() as cursor:
            # Whoever is erased at this moment would be added anew.
            cursor.execute(LOCK_ENQUEUE)
        there = Subscriber.objects.filter(email_key=key).first()
        if why := _why_not(there, key):
            return Added(Result.SKIPPED, there, why)
        if there is not None:
            return Added(Result.KNOWN, there)
        reader = _inserted(address, name, is_confirmed=bool(agreed_elsewhere))
        if reader is None:
            return Added(Result.KNOWN, Subscriber.objects.filter(email_key=key).first())
        if agreed_elsewhere:
            detail = f"Consent was given elsewhere, says {says}: {agreed_elsewhere}"
            consent_ledger.record(reader.pk, Act.STATED, How.API, name=name, detail=detail)
        else:
            _ask(reader, name, says)
        return Added(Result.ADDED, reader)


def _why_not(there: Subscriber | None, key: str) -> str:
    """Why this person is left out, in one sentence; empty if they are not."""
    # What a person did explains more than why their address is shut out, so it comes first.
    if there is not None and there.state in GONE:
        return WHY_SKIPPED[there.state]
    shut = Suppression.objects.filter(address_key=key, lifted_at=None).first()
    if shut is not None:
        return WHY_SKIPPED[shut.reason]
    # Whoever has signed up again since is known like anybody else.
    return WHY_SKIPPED[ERASED] if there is None and erased_among([key]) else ""


def _inserted(address: str, name: str, *, is_confirmed: bool) -> Subscriber | None:
    """Their row; None if somebody else brought them at the same moment."""
    state = Subscriber.State.CONFIRMED if is_confirmed else Subscriber.State.PENDING
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [address, name, state, Subscriber.Source.API, is_confirmed])
        row = cursor.fetchone()
    return Subscriber.objects.get(pk=row[0]) if row else None


def _ask(reader: Subscriber, name: str, says: str) -> None:
    number = next_number(reader, CONFIRMATION)
    detail = f"{says} asked for it"
    consent_ledger.record(reader.pk, Act.ASKED, How.API, request=number, name=name, detail=detail)
    if number != NOT_MAILED:
        request_mail(Edition.Kind.CONFIRMATION, number, [(reader.pk, reader.email)], ahead=True)
