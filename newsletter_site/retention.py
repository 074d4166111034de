"""
What goes with time: the one list of it, and the one function that goes through it.

`manage.py prune` and the worker's daily task (daily_prune.py) are both `prune`. Each kind is
deleted where it belongs, in pieces that are transactions of their own; here is only which there
are, how long each is kept, and the pause between two pieces.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db import OperationalError, transaction

from delivery.models import Edition
from delivery.monitoring import worker_heartbeat
from delivery.retention import expire_details, provider_event_details
from delivery.retention.batched_delete import OldRows
from delivery.rules.provider_retention import details_retention_days
from idempotency import expire
from newsletter_site.logs.exceptions import summarise
from publishing.external_checks import cached_results
from publishing.images import unused_images
from publishing.receipts import drop_old_deliveries
from subscribers.importing import expire_uploads
from subscribers.signup import expire_unconfirmed

logger = logging.getLogger(__name__)

# Between two pieces it rests as long as the last one took, so that it never has more than half of
# what one connection can do; the longest rest is short, so that it is stopped soon.
LONGEST_REST_S = 0.5


@dataclass(frozen=True, slots=True)
class Kind:
    """
    One kind of what goes: `name` for scripts, `what` and `kept` for people.

    `count()` says how many would go now. `pieces()` deletes them, a transaction at a time, and says
    of each how many went.
    """

    name: str
    what: str
    kept: str
    count: Callable[[], int]
    pieces: Callable[[], Iterator[int]]


@dataclass(frozen=True, slots=True)
class Gone:
    """
    How many went of one kind, or would. `is_whole`: nothing is left that could go; `trouble` says
    why it was left where it was not asked to stop.
    """

    kind: Kind
    number: int
    is_whole: bool = True
    trouble: str = ""


def kinds() -> list[Kind]:
    """Everything that goes with time, by the settings of this moment."""
    details = f"{_days(settings.DETAILS_KEEP_DAYS)} (DETAILS_KEEP_DAYS)"
    of_sending = details_retention_days()
    if of_sending > settings.DETAILS_KEEP_DAYS:
        asked = f"{_days(of_sending)}, while Postmark may be asked (POSTMARK_RETENTION_DAYS)"
    else:
        asked = details
    listed = [
        Kind(
            "answers",
            "saved answers to posted forms",
            f"{_days(settings.IDEMPOTENCY_TTL_DAYS)} (IDEMPOTENCY_TTL_DAYS)",
            expire.count_expired,
            expire.expire_in_pieces,
        ),
        Kind(
            "pending",
            "people who never confirmed, with all that is on record about them",
            f"{_days(settings.PENDING_EXPIRES_DAYS)} (PENDING_EXPIRES_DAYS)",
            expire_unconfirmed.count_expired,
            partial(_until_nothing, expire_unconfirmed.expire_pending),
        ),
        Kind(
            "files",
            "files of readers that nobody imported",
            f"{_days(settings.IMPORT_EXPIRES_DAYS)} (IMPORT_EXPIRES_DAYS)",
            expire_uploads.count_expired,
            partial(_until_nothing, expire_uploads.expire_file),
        ),
        _rows("calls", "calls to Postmark", asked, expire_details.old_attempts(of_sending)),
        _rows(
            "events",
            "what Postmark's webhooks told, and was applied",
            asked,
            provider_event_details.applied_events(of_sending),
        ),
        Kind(
            "test_letters",
            "test letters, with the address they went to",
            asked,
            partial(expire_details.count_test_letters, of_sending),
            partial(expire_details.delete_test_letters, of_sending),
        ),
        Kind(
            "pictures",
            "pictures that no letter shows",
            details,
            partial(unused_images.count_unused, settings.DETAILS_KEEP_DAYS),
            partial(unused_images.delete_unused, settings.DETAILS_KEEP_DAYS),
        ),
        _rows("looks", "looks at domains and links", "1 day", cached_results.old_looks()),
        _rows(
            "sessions",
            "sessions that have ended",
            "until they end",
            OldRows("django_session", ["expire_date", "session_key"], "expire_date", 0),
        ),
        _rows(
            "tokens",
            "API tokens that expired or were revoked",
            details,
            OldRows(
                "api_token",
                ["id"],
                "least(expires_at, revoked_at)",
                settings.DETAILS_KEEP_DAYS,
                in_order=False,
            ),
        ),
        # django-axes has two more tables; nothing is written into them (AXES_… in settings.py).
        _rows(
            "sign_ins",
            "counts of failed sign-ins",
            details,
            OldRows(
                "axes_accessattempt",
                ["id"],
                "attempt_time",
                settings.DETAILS_KEEP_DAYS,
                in_order=False,
            ),
        ),
        Kind(
            "workers",
            "workers that were killed",
            worker_heartbeat.EXPIRES_AFTER,
            expire_details.count_workers,
            expire_details.delete_workers,
        ),
    ]
    days = drop_old_deliveries.days_kept()
    listed.append(
        Kind(
            "copies",
            "copies of issues that are over",
            "for ever, unless dropped by hand (DELIVERIES_KEEP_DAYS)"
            if days is None
            else f"{_days(days)} (DELIVERIES_KEEP_DAYS)",
            drop_old_deliveries.count_old_copies,
            drop_old_deliveries.drop_old_copies,
        )
    )
    return listed


def prune(
    *,
    may_go_on: Callable[[], bool] = lambda: True,
    tell: Callable[[Kind, int], None] | None = None,
    rest: Callable[[float], object] = time.sleep,
) -> list[Gone]:
    """
    Let everything go that is older than it is kept; what became of each kind.

    After each piece `tell` hears how many of its kind have gone, `rest` is given the seconds to
    wait, and `may_go_on` is asked. Must not be called in a transaction. A kind that the database
    keeps waiting, or that breaks off, is left to another time and does not keep the others from
    theirs.
    """
    if transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("Pieces are transactions of their own.")
    done = []
    for kind in kinds():
        if not may_go_on():
            done.append(Gone(kind, 0, is_whole=False))
            continue
        done.append(_let_go(kind, may_go_on, tell, rest))
    return done


def drop_copies(
    edition: Edition, *, tell: Callable[[int], None], rest: Callable[[float], object] = time.sleep
) -> int:
    """
    Drop the copies of one edition now, with the same rests; how many went. `tell` hears how many so
    far. Raises `CannotDropError`, and `OperationalError` if the database kept it waiting.
    """
    gone = 0
    began = time.monotonic()
    for number in drop_old_deliveries.drop_copies(edition):
        gone += number
        tell(gone)
        rest(min(LONGEST_REST_S, time.monotonic() - began))
        began = time.monotonic()
    return gone


def would_go() -> list[Gone]:
    """What `prune` would let go now. Changes nothing and holds nothing."""
    return [Gone(kind, kind.count()) for kind in kinds()]


def _let_go(
    kind: Kind,
    may_go_on: Callable[[], bool],
    tell: Callable[[Kind, int], None] | None,
    rest: Callable[[float], object],
) -> Gone:
    number = 0
    pieces = kind.pieces()
    while True:
        began = time.monotonic()
        try:
            gone = next(pieces, None)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the others have their turn
            trouble = _told(kind, error)
            return Gone(kind, number, is_whole=False, trouble=trouble)
        if gone is None:
            return Gone(kind, number)
        number += gone
        if tell is not None:
            tell(kind, number)
        rest(min(LONGEST_REST_S, time.monotonic() - began))
        if not may_go_on():
            return Gone(kind, number, is_whole=False)


def _told(kind: Kind, error: Exception) -> str:
    """Tell the log that a kind broke off; why, for a person. Its words may repeat a row."""
    if isinstance(error, OperationalError):
        trouble = f"the database did not let it through ({type(error.__cause__ or error).__name__})"
        logger.warning("%s: %s; the rest goes another time", kind.what, trouble)
        return trouble
    logger.error("%s: it broke off; the rest goes another time", kind.what, exc_info=error)
    return f"it broke off ({summarise(error).sentence}); the log says where"


def _rows(name: str, what: str, kept: str, old: OldRows) -> Kind:
    return Kind(name, what, kept, old.count, old.delete)


def _until_nothing(a_piece: Callable[[], int]) -> Iterator[int]:
    while gone := int(a_piece()):
        yield gone


def _days(number: int) -> str:
    return f"{number:,} day{'s' * (number != 1)}"
