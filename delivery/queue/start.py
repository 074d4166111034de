"""Start the call for a claimed batch: commit the attempt before a byte is sent.

It makes the last check of every delivery: whether it may be mailed, and whether it was sent
already."""

import logging
from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.hooks import readers
from delivery.mail.message_for_reader import Recipient
from delivery.models import Edition
from delivery.queue.batches.write_outcomes import COUNT_ROWS, COUNTS, change_outcomes
from delivery.queue.claim import Claim
from delivery.queue.control import pass_probe_on
from delivery.queue.quarantine_sent_marks import HAS_SENT_MARK, quarantine
from delivery.queue.short_transaction import EditionLockNeededError, with_edition_lock_if_needed
from delivery.reader_fields import FIELD_COLUMNS
from delivery.rules.outcomes import Outcome, Suppressed, Withdrawn
from delivery.rules.reason import Reason, ReasonCode

logger = logging.getLogger(__name__)


def load_recipients(claim: Claim) -> list[Recipient]:
    """Load the waiting deliveries of a claimed batch."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT recipient_id, address, {FIELD_COLUMNS} FROM delivery
            WHERE batch_id = %s AND outcome = 'waiting' ORDER BY recipient_id
            """,  # noqa: S608 -- a constant
            [claim.batch],
        )
        rows: list[Recipient] = cursor.fetchall()
        return rows


def start(
    claim: Claim, attempt: UUID, worker: UUID, *, deadline_s: float, lease_s: float
) -> list[int]:
    """Record the attempt; hold the batch for the call's deadline plus the lease.

    Returns the recipients of the call: none if the claim is lost or no delivery may be sent.
    Guarded by the claim's epoch and lease, and by the edition's control."""

    def start_in(cursor: CursorWrapper, locked_control: str | None) -> list[int]:
        locked = locked_control is not None
        cursor.execute(
            """
            WITH sending AS (
                UPDATE batch SET state = 'sending', attempt = %s,
                       lease_until = clock_timestamp() + make_interval(secs => %s)
                WHERE batch.id = %s AND state = 'claimed' AND epoch = %s
                  AND lease_until > clock_timestamp()
                RETURNING edition_id
            )
            SELECT probing, control FROM sending JOIN edition ON edition.id = edition_id
            """,
            [attempt, deadline_s + lease_s, claim.batch, claim.epoch],
        )
        row = cursor.fetchone()
        if row is None:
            return []
        # The current value: the edition may have been stopped and resumed since the claim.
        probing, control = row
        if control != "running":
            _need(locked)
            # The batch was enqueued without the edition's lock while the edition was not running.
            _leave(cursor, claim, "state = 'paused'")
            return []
        unmarked, marked = _split_by_mark(cursor, claim)
        if marked:
            _need(locked)
            quarantine(cursor, claim.batch, claim.edition, marked)
        recipients = _still_to_send(cursor, claim, unmarked)
        if not recipients:
            _need(locked or not probing)
            _leave(cursor, claim, "state = 'done', reason = ''")
            if probing:
                pass_probe_on(cursor, claim.edition)
            return []
        cursor.execute(
            """
            INSERT INTO attempt (id, batch_id, edition_id, stream, epoch, worker, messages,
                                 started_at, deadline_at, detail, accepted)
            SELECT %s, %s, id, stream, %s, %s, %s, clock_timestamp(),
                   clock_timestamp() + make_interval(secs => %s), '', 0
            FROM edition WHERE id = %s
            """,
            [attempt, claim.batch, claim.epoch, worker, len(recipients), deadline_s, claim.edition],
        )
        return recipients

    return with_edition_lock_if_needed(claim.edition, start_in, lock_first=claim.probing)


def _need(lock: bool) -> None:
    if not lock:
        raise EditionLockNeededError


def _split_by_mark(cursor: CursorWrapper, claim: Claim) -> tuple[list[int], list[int]]:
    """Return the waiting recipients without and with a mark of having been sent.

    An unknown delivery in such a batch was put there manually. It counts as marked."""
    cursor.execute(
        f"""
        SELECT recipient_id, outcome = 'unknown', {HAS_SENT_MARK} FROM delivery
        WHERE batch_id = %s AND outcome IN ('waiting', 'unknown') ORDER BY recipient_id
        """,  # noqa: S608 -- a constant
        [claim.batch],
    )
    unmarked: list[int] = []
    marked: list[int] = []
    misplaced: list[int] = []
    for recipient, is_unknown, has_mark in cursor.fetchall():
        (marked if has_mark or is_unknown else unmarked).append(recipient)
        if is_unknown:
            misplaced.append(recipient)
    if misplaced:
        cursor.execute(
            """
            UPDATE delivery SET outcome = 'waiting'
            WHERE batch_id = %s AND outcome = 'unknown' AND recipient_id = ANY(%s)
            """,
            [claim.batch, misplaced],
        )
        _recount(cursor, claim.batch)
    return unmarked, marked


def _recount(cursor: CursorWrapper, batch: int) -> None:
    """Set a batch's counts from its rows. The caller holds the batch."""
    logger.critical("batch %d is recounted: its rows were changed outside the queue", batch)
    cursor.execute(
        f"""
        UPDATE batch SET {", ".join(f"{name} = held.{name}" for name in ("size", *COUNTS))}
        FROM (SELECT {COUNT_ROWS} FROM delivery WHERE batch_id = %(batch)s) AS held
        WHERE id = %(batch)s
        """,  # noqa: S608 -- constants
        {"batch": batch},
    )


def _leave(cursor: CursorWrapper, claim: Claim, change: str) -> None:
    """Give up a batch without sending anything."""
    cursor.execute(
        f"""
        UPDATE batch SET {change}, attempt = NULL, owner = NULL, lease_until = NULL
        WHERE id = %s AND state = 'sending' AND epoch = %s
        """,  # noqa: S608 -- a constant
        [claim.batch, claim.epoch],
    )


def _still_to_send(cursor: CursorWrapper, claim: Claim, unmarked: Sequence[int]) -> list[int]:
    gone = (
        _unmailable_tests(cursor, claim)
        if claim.kind == Edition.Kind.TEST
        else readers.registered().no_longer_mailable(unmarked, claim.kind)
    )
    if gone:
        is_newsletter = claim.kind == Edition.Kind.NEWSLETTER
        code = ReasonCode.LEFT if is_newsletter else ReasonCode.NOT_HELD_ANY_MORE
        left = Withdrawn(Reason.of(code))
        suppressed = Suppressed(Reason.of(ReasonCode.ON_SUPPRESSION_LIST))
        outcomes: dict[int, Outcome] = {
            recipient: left if verdict == "withdrawn" else suppressed
            for recipient, verdict in gone.items()
        }
        change_outcomes(cursor, claim.batch, outcomes, old="waiting")
    return [recipient for recipient in unmarked if recipient not in gone]


def _unmailable_tests(cursor: CursorWrapper, claim: Claim) -> Mapping[int, str]:
    """Return the verdict on a test letter that may not be sent, by recipient id.

    Only its address counts: it may be suppressed or erased."""
    cursor.execute(
        "SELECT recipient_id, address FROM delivery WHERE batch_id = %s AND outcome = 'waiting'",
        [claim.batch],
    )
    addresses = dict(cursor.fetchall())
    suppressed = readers.registered().suppressed_among(list(addresses.values()))
    return {
        recipient: "suppressed" if address else "withdrawn"
        for recipient, address in addresses.items()
        if not address or address in suppressed
    }
