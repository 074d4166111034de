"""
Writes beside a copy what became of it after it was accepted: delivered, bounced, complained about.

Of each the earliest time that was told is kept, and each copy is counted once, so that neither
order nor repetition makes a difference. An outcome is never changed here: what the provider
accepted stays sent, whatever came of it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from delivery.feedback.pause_on_bounces import pause_if_over_threshold
from delivery.queue.batches.batch_state import count_feedback
from delivery.queue.batches.split import lock_edition
from delivery.rules.delivery_key import DeliveryKey

_COPY = "issue_id = %(issue)s AND version = %(version)s AND recipient_id = %(recipient)s"

_IS_DROPPED = """EXISTS (SELECT FROM edition WHERE issue_id = %(issue)s AND version = %(version)s
                                              AND copies_dropped_at IS NOT NULL)"""


def _named(key: DeliveryKey, at: datetime) -> dict[str, Any]:
    return {"issue": key.issue, "version": key.version, "recipient": key.recipient, "at": at}


def record_delivered(cursor: CursorWrapper, key: DeliveryKey, at: datetime) -> None:
    """The receiving server took this copy at `at`. No column of it is indexed, no count written."""
    cursor.execute(
        f"""
        UPDATE delivery SET delivered_at = %(at)s
        WHERE {_COPY} AND (delivered_at IS NULL OR delivered_at > %(at)s)
        """,  # noqa: S608 -- a constant
        _named(key, at),
    )


def record_bounced(cursor: CursorWrapper, key: DeliveryKey, at: datetime) -> None:
    """This copy came back at `at`. Many of them pause the edition."""
    _write_counted(cursor, key, at, "bounced")


def record_complained(cursor: CursorWrapper, key: DeliveryKey, at: datetime) -> None:
    """This copy was called spam at `at`. Some of them pause the edition."""
    _write_counted(cursor, key, at, "complained")


def _write_counted(cursor: CursorWrapper, key: DeliveryKey, at: datetime, what: str) -> None:
    named = _named(key, at)
    # The common case when it is told a second time, by another way: nothing is locked.
    cursor.execute(
        f"""
        SELECT edition.id FROM edition JOIN delivery USING (issue_id, version)
        WHERE {_COPY} AND ({what}_at IS NULL OR {what}_at > %(at)s)
        """,  # noqa: S608 -- constants
        named,
    )
    row = cursor.fetchone()
    if row is None:
        return
    (edition,) = row
    # Edition, batch, delivery: in the order of everybody else. Under the edition's lock no copy
    # moves to another batch.
    lock_edition(cursor, edition)
    cursor.execute(
        f"""
        SELECT FROM batch WHERE id = (SELECT batch_id FROM delivery WHERE {_COPY})
        FOR NO KEY UPDATE
        """,  # noqa: S608 -- a constant
        named,
    )
    # Where copies are dropped nothing is counted by those that are still there. Asked under the
    # edition's lock, without which nobody says so.
    if count_feedback(cursor, what, _COPY, _IS_DROPPED, named):
        pause_if_over_threshold(cursor, edition)
        return
    cursor.execute(
        f"UPDATE delivery SET {what}_at = %(at)s WHERE {_COPY} AND {what}_at > %(at)s",  # noqa: S608 -- constants
        named,
    )


def find_delivery_by_message(
    cursor: CursorWrapper, issue: UUID, recipient: int, message_id: str
) -> DeliveryKey | None:
    """
    The copy of an issue that the provider knows by this id, or None.

    For what is told without our metadata. The provider's ids are not indexed; of one reader there
    are only as many rows as versions. It may be told before the reply that brings the id: then it
    is the one copy that has none yet, if there is but one.
    """
    cursor.execute(
        """
        SELECT version, provider_message_id FROM delivery
        WHERE issue_id = %s AND recipient_id = %s AND coalesce(provider_message_id, %s) = %s
        """,
        [issue, recipient, message_id, message_id],
    )
    found = cursor.fetchall()
    known = [version for version, of_it in found if of_it is not None]
    versions = known or [version for version, _ in found]
    return DeliveryKey(issue, versions[0], recipient) if len(versions) == 1 else None


def exists_or_dropped(cursor: CursorWrapper, key: DeliveryKey) -> bool:
    """Whether this copy is one of this database's, or was until its edition's were dropped."""
    cursor.execute(
        f"SELECT EXISTS (SELECT FROM delivery WHERE {_COPY}) OR {_IS_DROPPED}",  # noqa: S608 -- constants
        {"issue": key.issue, "version": key.version, "recipient": key.recipient},
    )
    return bool(cursor.fetchone()[0])


def is_dropped(cursor: CursorWrapper, key: DeliveryKey) -> bool:
    """Whether the copies of its edition are not kept any more."""
    cursor.execute(
        f"SELECT {_IS_DROPPED}",
        {"issue": key.issue, "version": key.version},
    )
    return bool(cursor.fetchone()[0])
