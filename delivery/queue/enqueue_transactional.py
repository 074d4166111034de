"""Enqueue transactional mail in the transaction that records its request."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import F

from delivery.issue_attributes import CONTENT_ATTRIBUTES
from delivery.mail.html_and_text import compose_transactional
from delivery.mail.transactional_mail_texts import ISSUE_BY_KIND
from delivery.models import Batch, Delivery, Edition, Newsletter
from delivery.models.delivery import Outcome
from delivery.provider.from_settings import batch_size
from delivery.queue.batches.insert_and_split import (
    DRAWN_NUMBERS,
    batch_size_for,
    first_batch_id,
    insert_batches,
)
from delivery.queue.enqueue_edition import CURRENT_POSITION
from delivery.queue.short_transaction import lock_edition, require_transaction
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.outcomes import INACTIVE

AHEAD_OF_ALL = 0
# The recipient id, address and name, and the values of the edition's merge fields as JSON.
NewDelivery = tuple[int, str, str, str | None]

# The first edition of a welcome letter's issue has the content of the letter. The edition of each
# later opt-in is a copy of the first edition, because a reader who returns gets another delivery.
_COPIED = (
    "kind",
    "stream",
    *(one.column for one in CONTENT_ATTRIBUTES),
    "html_mail",
    "text_mail",
    "merge_fields",
    "content_hash",
    "archive_url",
)


# If the opt-in is older than the restore, its mail may already have been sent after the backup. So
# ask the provider before the mail is sent.
_ASK_FIRST = """
    WITH asked AS (
        UPDATE batch SET state = 'unknown', unknown = waiting, waiting = 0,
               unknown_since = clock_timestamp()
        FROM delivery
        WHERE issue_id = %s AND version = %s AND recipient_id = %s AND batch.id = batch_id
              AND %s < (SELECT since FROM database_identity)
        RETURNING batch.id
    )
    UPDATE delivery SET outcome = 'unknown' WHERE batch_id IN (SELECT id FROM asked)
"""


def request_mail(
    kind: str, version: int, recipients: Sequence[tuple[int, str]], *, ahead: bool
) -> None:
    """Send a mail of this kind to `recipients`, pairs of recipient id and address.

    For each recipient, this is the `version`-th mail of this kind. With `ahead`, the mail is sent
    before every newsletter. Must be called inside a transaction. The first request for a version
    creates the edition. Concurrent requests wait until the transaction of the first request ends.
    Raises `IntegrityError` if a recipient has this kind and version already, and `LookupError` if
    the edition has no room for another batch.
    """
    require_transaction()
    if not recipients:
        return
    deliveries = [(recipient, address, "", None) for recipient, address in recipients]
    _insert_deliveries(_edition(Edition.Kind(kind), version), deliveries, ahead=ahead)


def _insert_deliveries(edition: Edition, deliveries: Sequence[NewDelivery], *, ahead: bool) -> None:
    size = batch_size_for(edition, batch_size())
    with connection.cursor() as cursor:
        place = AHEAD_OF_ALL
        if not ahead:
            cursor.execute(CURRENT_POSITION)
            (place,) = cursor.fetchone()
        for number, start in enumerate(range(0, len(deliveries), size)):
            some = deliveries[start : start + size]
            batch = _new_batch(cursor, edition.pk, place if ahead else place + number, len(some))
            cursor.execute(
                """
                INSERT INTO delivery (issue_id, recipient_id, version, batch_id, address, name,
                                      fields, outcome)
                SELECT %s, recipient, %s, %s, address, name,
                       CASE WHEN fields IS NOT NULL
                            THEN ARRAY(SELECT jsonb_array_elements_text(fields::jsonb)) END,
                       'waiting'
                FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[])
                     AS copy (recipient, address, name, fields)
                """,
                [edition.issue_id, edition.version, batch, *map(list, zip(*some, strict=True))],
            )


def _edition(kind: Edition.Kind, version: int) -> Edition:
    """Return the edition of the `version`-th mail of this kind; create it if missing."""

    def write() -> dict[str, Any]:
        title, mail = compose_transactional(kind, Newsletter.objects.get_current())
        content = "\0".join((title, mail.html, mail.text))
        return {
            "kind": kind,
            "stream": settings.TRANSACTIONAL_STREAM,
            "title": title,
            "html_mail": mail.html,
            "text_mail": mail.text,
            "content_hash": hashlib.sha256(content.encode()).digest(),
        }

    return _get_or_create(ISSUE_BY_KIND[kind], version, write)


def _get_or_create(issue: UUID, version: int, write: Callable[[], dict[str, Any]]) -> Edition:
    editions = Edition.objects.filter(issue_id=issue, version=version)
    if (edition := editions.first()) is not None:
        return edition
    # If two first requests come together, one creates the edition and the other finds it.
    new = Edition(issue_id=issue, version=version, **write())
    Edition.objects.bulk_create([new], ignore_conflicts=True)
    return editions.get()


def _new_batch(cursor: CursorWrapper, edition: int, place: int, deliveries: int) -> int:
    """Insert a batch under the next free number; return its id.

    The batch is ready even if the edition is paused: `start_call.py` then pauses the batch instead
    of sending it.
    """
    rows = "SELECT %s + nextval('batch_on_request'), %s::bigint, %s, 'ready', clock_timestamp(), %s"
    for _ in range(DRAWN_NUMBERS):
        cursor.execute(
            f"{insert_batches(rows)} ON CONFLICT (id) DO NOTHING RETURNING id",
            [first_batch_id(edition), edition, place, deliveries],
        )
        row = cursor.fetchone()
        if row is not None:
            return int(row[0])
    raise LookupError(f"Edition {edition} of transactional mail has no room for another batch.")


def requeue_inactive(cursor: CursorWrapper, key: DeliveryKey) -> bool:
    """Queue again a mail that the provider refused as inactive; its tries start at 0.

    The mail keeps its key and link, and was provably not accepted. Returns False if the mail no
    longer counts as refused. Runs in the caller's transaction, which must not lock anything before
    this call.
    """
    deliveries = Delivery.objects.filter(
        issue_id=key.issue, version=key.version, recipient_id=key.recipient
    )
    refused = deliveries.filter(outcome=Outcome.SUPPRESSED, reason=INACTIVE).exclude(address="")
    edition = Edition.objects.filter(issue_id=key.issue, version=key.version).first()
    old = refused.values_list("batch", flat=True).first()
    if edition is None or old is None:
        return False
    # The common lock order: edition, batch, delivery. Until this transaction holds the locks, an
    # erasure may blank the address.
    lock_edition(cursor, edition.pk)
    Batch.objects.select_for_update(no_key=True).get(pk=old)
    if not refused.filter(batch=old).select_for_update(no_key=True).exists():
        return False
    new = _new_batch(cursor, edition.pk, AHEAD_OF_ALL, 1)
    deliveries.update(outcome=Outcome.WAITING, reason=None, batch=new)
    Batch.objects.filter(pk=old).update(size=F("size") - 1, suppressed=F("suppressed") - 1)
    return True


def enqueue_welcome(
    readers: Sequence[tuple[int, str, str, Mapping[str, str]]],
    opt_in: int,
    *,
    ahead: bool = True,
    asked_at: datetime | None = None,
) -> None:
    """Send the current welcome letter, if there is one, to each of these readers.

    Each reader is given as the recipient id, the address, the name and the values of the author's
    own fields. If the database was restored after `asked_at`, the provider is first asked whether
    it has the letter already. Must be called inside the transaction of the opt-in. Raises
    `IntegrityError` if one of these opt-ins already has its letter.
    """
    require_transaction()
    letter = Edition.objects.filter(
        issue_id__in=Newsletter.objects.values("welcome_issue"), version=1
    ).first()
    if letter is None or not readers:
        return
    edition = _get_or_create(
        letter.issue_id, opt_in, lambda: {name: getattr(letter, name) for name in _COPIED}
    )
    keys = edition.merge_fields
    deliveries = [
        (reader, address, name, json.dumps([own.get(key, "") for key in keys]) if keys else None)
        for reader, address, name, own in readers
    ]
    _insert_deliveries(edition, deliveries, ahead=ahead)
    with connection.cursor() as cursor:
        for reader, *_ in readers if asked_at else ():
            cursor.execute(_ASK_FIRST, [letter.issue_id, opt_in, reader, asked_at])
