"""Enqueue transactional mail in the transaction of the request for it."""

import hashlib
from collections.abc import Mapping, Sequence

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from delivery.mail.html_and_text import compose_transactional
from delivery.mail.transactional_mail import ISSUE_BY_KIND, transactional_text
from delivery.models import Delivery, Edition, Newsletter
from delivery.queue.batches.batch_size import batch_size_for
from delivery.queue.batches.insert_and_split import DRAWN_NUMBERS, first_batch_id, insert_batches
from delivery.queue.enqueue import CURRENT_POSITION

AHEAD_OF_ALL = 0

# The first edition of a welcome letter's issue has its content. The edition of each later opt-in
# is a copy, because a reader who returns gets another delivery.
_COPIED = (
    "kind",
    "stream",
    "title",
    "preheader",
    "html_content",
    "text_content",
    "html_mail",
    "text_mail",
    "merge_fields",
    "content_hash",
    "archive_url",
)


def request_mail(
    kind: str, version: int, recipients: Sequence[tuple[int, str]], *, ahead: bool
) -> None:
    """Send a mail of this kind to each of `recipients`: (recipient id, address).

    It is the `version`-th of its kind for each of them. With `ahead` it goes before every
    newsletter. Must be called inside a transaction. The first request for a version creates the
    edition, and concurrent requests wait until that transaction ends. Raises `IntegrityError` if a
    recipient has this kind and version already, and `LookupError` if the edition has no room for
    another batch."""
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError(
            "No transaction is open. Request the mail in the same transaction as its cause: wrap "
            "both in transaction.atomic()."
        )
    if not recipients:
        return
    edition = _edition(Edition.Kind(kind), version)
    size = batch_size_for(edition, settings.DELIVERY_BATCH_SIZE)
    with connection.cursor() as cursor:
        place = AHEAD_OF_ALL
        if not ahead:
            cursor.execute(CURRENT_POSITION)
            (place,) = cursor.fetchone()
        for number, start in enumerate(range(0, len(recipients), size)):
            copies = recipients[start : start + size]
            batch = _new_batch(cursor, edition.pk, place if ahead else place + number, len(copies))
            cursor.execute(
                """
                INSERT INTO delivery (issue_id, recipient_id, version, batch_id, address, outcome)
                SELECT %s, recipient, %s, %s, address, 'waiting'
                FROM unnest(%s::bigint[], %s::text[]) AS copy (recipient, address)
                """,
                [
                    edition.issue_id,
                    version,
                    batch,
                    [recipient for recipient, _ in copies],
                    [address for _, address in copies],
                ],
            )


def _edition(kind: Edition.Kind, version: int) -> Edition:
    """Return the edition of the `version`-th mail of this kind; create it if missing."""
    editions = Edition.objects.filter(issue_id=ISSUE_BY_KIND[kind], version=version)
    edition = editions.first()
    if edition is None:
        words = transactional_text(kind)
        mail = compose_transactional(words)
        content = "\0".join((words.title, mail.html, mail.text))
        # With two concurrent first requests, one creates it and the other finds it.
        Edition.objects.bulk_create(
            [
                Edition(
                    issue_id=ISSUE_BY_KIND[kind],
                    version=version,
                    kind=kind,
                    stream=settings.POSTMARK_TRANSACTIONAL_STREAM,
                    title=words.title,
                    html_mail=mail.html,
                    text_mail=mail.text,
                    content_hash=hashlib.sha256(content.encode()).digest(),
                )
            ],
            ignore_conflicts=True,
        )
        edition = editions.get()
    return edition


def _new_batch(cursor: CursorWrapper, edition: int, place: int, copies: int) -> int:
    """Insert a batch under the next free number; return its id.

    It is ready even if the edition is paused. Then `start.py` pauses it instead of sending it."""
    rows = "SELECT %s + nextval('batch_on_request'), %s::bigint, %s, 'ready', clock_timestamp(), %s"
    for _ in range(DRAWN_NUMBERS):
        cursor.execute(
            f"{insert_batches(rows)} ON CONFLICT (id) DO NOTHING RETURNING id",
            [first_batch_id(edition), edition, place, copies],
        )
        row = cursor.fetchone()
        if row is not None:
            return int(row[0])
    raise LookupError(f"Edition {edition} of transactional mail has no room for another batch.")


def enqueue_welcome(
    recipient: int, address: str, name: str, fields: Mapping[str, str], opt_in: int
) -> None:
    """Send the welcome letter that is on, if any, for a reader's request `opt_in`.

    Must be called inside the transaction of the opt-in. Raises `IntegrityError` if this opt-in has
    the letter already."""
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError(
            "A welcome letter must be enqueued in the transaction of the opt-in; there is none."
        )
    letter = Edition.objects.filter(
        issue_id__in=Newsletter.objects.values("welcome_issue"), version=1
    ).first()
    if letter is None:
        return
    edition = _welcome_edition(letter, opt_in)
    with connection.cursor() as cursor:
        batch = _new_batch(cursor, edition.pk, AHEAD_OF_ALL, 1)
    Delivery.objects.create(
        issue_id=edition.issue_id,
        recipient_id=recipient,
        version=opt_in,
        batch_id=batch,
        address=address,
        name=name,
        fields=[fields.get(key, "") for key in edition.merge_fields] or None,
    )


def _welcome_edition(letter: Edition, opt_in: int) -> Edition:
    """Return the letter's edition for request `opt_in`; create it if missing."""
    editions = Edition.objects.filter(issue_id=letter.issue_id, version=opt_in)
    edition = editions.first()
    if edition is None:
        content = {name: getattr(letter, name) for name in _COPIED}
        # With two concurrent first opt-ins, one creates it and the other finds it.
        copy = Edition(issue_id=letter.issue_id, version=opt_in, **content)
        Edition.objects.bulk_create([copy], ignore_conflicts=True)
        edition = editions.get()
    return edition
