"""Records what people did with readers and imports in the admin's log. Never an address."""

from __future__ import annotations

import logging
import uuid

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType

from subscribers.models import Subscriber, SubscriberImport

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


def record_upload(importer: uuid.UUID, record: SubscriberImport) -> None:
    """A file came to be checked. In the caller's transaction, like all of these."""
    _record_import(importer, record, ADDITION, "Uploaded to be checked.")


def record_import(importer: uuid.UUID, record: SubscriberImport) -> None:
    """What was checked is to be imported, and on which statement."""
    how = (
        f"with consent given elsewhere: {record.statement}"
        if record.confirmed
        else "asking each reader to confirm"
    )
    _record_import(importer, record, CHANGE, f"Imported, {how}.")


def record_drop(importer: uuid.UUID, record: SubscriberImport) -> None:
    """What was checked is not to be imported."""
    _record_import(importer, record, DELETION, "Dropped; nobody was imported.")


def _record(operator: uuid.UUID, subscriber_id: int | None, flag: int, sentence: str) -> None:
    LogEntry.objects.create(
        user_id=operator,
        content_type=ContentType.objects.get_for_model(Subscriber),
        object_id=None if subscriber_id is None else str(subscriber_id),
        object_repr=f"subscriber {subscriber_id}" if subscriber_id else "the list",
        action_flag=flag,
        change_message=sentence,
    )


def _record_import(importer: uuid.UUID, record: SubscriberImport, flag: int, sentence: str) -> None:
    LogEntry.objects.create(
        user_id=importer,
        content_type=ContentType.objects.get_for_model(SubscriberImport),
        object_id=str(record.pk),
        object_repr=str(record)[:200],
        action_flag=flag,
        change_message=sentence,
    )
