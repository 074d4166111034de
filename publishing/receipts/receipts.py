"""
Receipts: made once when an edition has come to rest, from its rows and not from its counters.

Every copy is read for it, so a receipt is a recount as well; where the rows and the books differ,
there is none. It is kept for good, and a trigger keeps it from changing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from delivery.models import Edition
from publishing.display_name import named
from publishing.editions.status import EditionStatus, load_status
from publishing.models import Receipt
from publishing.progress.progress import counts_of, is_at_rest
from publishing.progress_bar import ORDER
from publishing.receipts.receipt_text import Signed, signed

FORMAT = 1
CHUNK = 10_000


class NoReceiptError(Exception):
    """There is no receipt, or none yet; the sentence says why."""


@dataclass(slots=True)
class Recount:
    """What the rows of an edition say, read one after the other."""

    audience: Any = field(default_factory=hashlib.sha256)
    outcomes: Counter[str] = field(default_factory=Counter)
    message_ids: int = 0
    first: datetime | None = None
    last: datetime | None = None

    def add(self, recipient: int, outcome: str, has_id: bool, sent_at: datetime | None) -> None:
        """One copy, in the order of the recipients."""
        self.audience.update(b"%d\n" % recipient)
        self.outcomes[outcome] += 1
        self.message_ids += has_id
        if outcome == "sent" and sent_at is not None:
            self.first = sent_at if self.first is None else min(self.first, sent_at)
            self.last = sent_at if self.last is None else max(self.last, sent_at)


def why_none(edition: Edition, status: EditionStatus) -> str:
    """Why an edition cannot have a receipt now, in one sentence; empty if it can."""
    if edition.kind != Edition.Kind.NEWSLETTER:
        return "Mail that people ask for never ends, so there is no receipt of it."
    if not is_at_rest(status):
        return (
            "There is no receipt yet: it is made when every copy is settled or the issue has been "
            f"closed or cancelled. Now it is {status.words}."
        )
    return ""


def receipt_of(edition: Edition) -> Receipt:
    """The receipt of an edition, made now if there is none. Raises `NoReceiptError`."""
    kept = Receipt.objects.filter(edition=edition.pk).first()
    return kept or _made(edition)


def signed_receipt(receipt: Receipt) -> Signed:
    """The receipt as it is given out."""
    return Signed(receipt.text, receipt.signature)


def facts_today(edition: Edition) -> dict[str, Any] | None:
    """
    What a receipt would say that were made of the books as they are. Reads every row; None where
    the rows are not kept any more.
    """
    with transaction.atomic():
        _in_one_moment()
        status = load_status(edition.pk)
        if status.books.copies_dropped_at is not None:
            return None
        return _facts(edition, status, _recounted(edition))


def _made(edition: Edition) -> Receipt:
    with transaction.atomic():
        _in_one_moment()
        status = load_status(edition.pk)
        why = why_none(edition, status)
        if why:
            raise NoReceiptError(why)
        if status.books.copies_dropped_at is not None:
            raise NoReceiptError("There is no receipt, and its copies were dropped.")
        recount = _as_the_books_say(edition, status)
        text = signed(_facts(edition, status, recount))
    # Whoever was first has made it. Of one moment it must not be: what another transaction wrote
    # since would end it with an error.
    Receipt.objects.bulk_create(
        [Receipt(edition=edition, text=text.text, signature=text.signature)], ignore_conflicts=True
    )
    return Receipt.objects.get(edition=edition.pk)


def recount_before_dropping(edition: Edition) -> None:
    """
    Count the rows of an edition once more, whether or not it has a receipt: after this nobody can.
    Where another run has dropped them meanwhile it has counted them. Raises `NoReceiptError` where
    they differ from its books.
    """
    with transaction.atomic():
        _in_one_moment()
        status = load_status(edition.pk)
        if status.books.copies_dropped_at is None:
            _as_the_books_say(edition, status)


def _as_the_books_say(edition: Edition, status: EditionStatus) -> Recount:
    """The rows counted again. Raises `NoReceiptError` where they differ from the books."""
    recount = _recounted(edition)
    if any(recount.outcomes[name] != count for name, count in counts_of(status.books).items()):
        raise NoReceiptError(
            "The rows and the books of this issue differ, so nothing can be proved by them. Run "
            f"./homing audit {edition.issue_id}, which says where."
        )
    return recount


def _in_one_moment() -> None:
    """Have everything that this transaction reads be of one moment."""
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def _facts(edition: Edition, status: EditionStatus, recount: Recount) -> dict[str, Any]:
    books = status.books
    return {
        "format": FORMAT,
        "issue": str(edition.issue_id),
        "version": edition.version,
        "title": edition.title,
        "state": status.state.value,
        "content_sha256": bytes(edition.content_hash).hex(),
        "audience_sha256": recount.audience.hexdigest(),
        "counts": {
            "audience": books.audience,
            **{name: recount.outcomes[name] for name in ORDER},
        },
        "message_ids": recount.message_ids,
        "published_at": _time(edition.published_at),
        "first_copy_at": _time(recount.first),
        "last_copy_at": _time(recount.last),
        "ended_at": _time(_ended_at(edition, recount)),
        "published_by": named(edition.author_id),
        "approved_by": named(edition.approved_by_id) if edition.approved_by_id else None,
    }


def _recounted(edition: Edition) -> Recount:
    recount = Recount()
    for row in _rows(edition.issue_id, edition.version):
        recount.add(*row)
    return recount


def _rows(issue: UUID, version: int) -> Iterator[tuple[int, str, bool, datetime | None]]:
    """The copies along their key, some at a time: memory stays the same however many they are."""
    after = -1
    with connection.cursor() as cursor:
        while True:
            cursor.execute(
                """
                SELECT recipient_id, outcome, provider_message_id IS NOT NULL, sent_at
                FROM delivery
                WHERE issue_id = %s AND version = %s AND recipient_id > %s
                ORDER BY recipient_id LIMIT %s
                """,
                [issue, version, after, CHUNK],
            )
            rows = cursor.fetchall()
            yield from rows
            if len(rows) < CHUNK:
                return
            after = rows[-1][0]


def _ended_at(edition: Edition, recount: Recount) -> datetime:
    """When a person ended it; or the last thing happened that belongs to it."""
    if edition.control in {"cancelled", "closed"} and edition.control_at is not None:
        return edition.control_at
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT greatest(%s::timestamptz, %s::timestamptz, max(finished_at)) "
            "FROM attempt WHERE edition_id = %s",
            [edition.held_until, recount.last, edition.pk],
        )
        ended: datetime = cursor.fetchone()[0]
    return ended


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds")
