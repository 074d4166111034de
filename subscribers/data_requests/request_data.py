"""Requests for the data of an address, answered by mail.

Storing a request takes the same time for every address, so the time does not reveal whether the
address is on the list.
"""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.db import OperationalError, transaction
from django.db.models.functions import Now

from delivery.models import Edition
from delivery.retention.batched_delete import MAX_LOCK_WAIT_S
from delivery.tasks.run_leased_task import ClaimedTask, claim, open_tasks
from subscribers.consent.consent_log import record_consent
from subscribers.links import request_token
from subscribers.models import ConsentRecord, DataRequest, Subscriber
from subscribers.models.consent_record import Act, How
from subscribers.request_limits import NOT_MAILED, ask_for_mail, seconds_until_turn

logger = logging.getLogger(__name__)

LINK_DAYS = 7
AT_ONCE = 200  # one call answers at most this number of requests
UNKNOWN_READER = 0  # marks a record that only counts towards a network's limit


def store_request(address: str, network: str) -> int:
    """Store a request for a worker; return 0, or the seconds to wait at a limit."""
    with transaction.atomic():
        wait = seconds_until_turn(network)
        if not wait:
            DataRequest.objects.create(email_key=address.lower(), network=network)
    return wait


def has_waiting_requests() -> bool:
    """Return whether any request waits for an answer. Parked requests do not count."""
    return open_tasks(DataRequest).exists()


def answer_requests() -> None:
    """Answer up to `AT_ONCE` requests, oldest first.

    A request that fails, or whose reader's row is locked, waits for a later call.
    """
    for _ in range(AT_ONCE):
        # If the database cannot be reached, this statement raises, and the worker waits.
        request = claim(DataRequest)
        if request is None:
            return
        try:
            ClaimedTask(request).run(_try_to_answer)
        except Exception:
            logger.exception("a data request failed")


def _try_to_answer(running: ClaimedTask[DataRequest]) -> None:
    try:
        with running.step() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{MAX_LOCK_WAIT_S}s'")
            running.hold()
            _answer(running.task)
            running.task.delete()
    except OperationalError as fault:
        # A lock or the database caused this error, so the failed try does not count.
        logger.warning("a data request waits: %s", type(fault).__name__)
        running.retry_later(counts=False)


def _answer(request: DataRequest) -> None:
    """Queue the mail of a request.

    Raises `OperationalError` if the reader's row is locked.
    """
    readers = Subscriber.objects.select_for_update(nowait=True)
    reader = readers.filter(email_key=request.email_key).first()
    if reader is None:
        _count_for_the_network(request.network, request.requested_at)
        return
    consent = {"at": request.requested_at, "network": request.network}
    ask_for_mail(reader, Edition.Kind.RECORD, Act.RECORD_ASKED, How.FORM, **consent)


def load_data_link(token: str) -> tuple[int, bool, str] | None:
    """Return a link's reader, whether the link still works, and its repaired token.

    Return None if the link is unknown.
    """
    request = request_token.read(Edition.Kind.RECORD, token)
    if request is None:
        return None
    is_fresh = ConsentRecord.objects.filter(
        subscriber=request.recipient,
        act=Act.RECORD_ASKED,
        request=request.number,
        at__gt=Now() - timedelta(days=LINK_DAYS),
    ).exists()
    return request.recipient, is_fresh, request_token.token_for(Edition.Kind.RECORD, request)


def _count_for_the_network(network: str, asked_at: datetime) -> None:
    """Count a request for an unknown address towards the limit of its network.

    If only requests for readers' addresses counted, the limit would show which addresses are on the
    list.
    """
    earlier = ConsentRecord.objects.filter(subscriber=UNKNOWN_READER)
    earlier.filter(at__lt=Now() - timedelta(days=1)).delete()
    if network:
        asked: dict[str, Any] = {"at": asked_at, "network": network, "request": NOT_MAILED}
        record_consent(UNKNOWN_READER, Act.RECORD_ASKED, How.FORM, **asked)
