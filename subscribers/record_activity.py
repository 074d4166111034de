"""What people at the desk did with readers, in the log that the admin shows. Without an address."""

from __future__ import annotations

import logging
import uuid

from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType

from subscribers.models import Subscriber

logger = logging.getLogger(__name__)

ERASED = "Erased."


def record_action(operator: uuid.UUID, subscriber_id: int, sentence: str) -> None:
    """Somebody did something about one reader, who stands there by number."""
    _record(operator, subscriber_id, DELETION if sentence == ERASED else CHANGE, sentence)


def record_export(operator: uuid.UUID, state: str) -> None:
    """Somebody took the list away as a file."""
    which = f"{state} readers" if state else "readers"
    _record(operator, None, CHANGE, f"Downloaded the list of {which} as CSV.")
    logger.info("the list of %s was downloaded", which)


def _record(operator: uuid.UUID, subscriber_id: int | None, flag: int, sentence: str) -> None:
    LogEntry.objects.create(
        user_id=operator,
        content_type=ContentType.objects.get_for_model(Subscriber),
        object_id=None if subscriber_id is None else str(subscriber_id),
        object_repr=f"subscriber {subscriber_id}" if subscriber_id else "the list",
        action_flag=flag,
        change_message=sentence,
    )
