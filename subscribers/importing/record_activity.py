"""Who uploaded, imported and dropped which file, in the log that the admin shows."""

from __future__ import annotations

import uuid

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType

from subscribers.models import SubscriberImport


def record_upload(importer: uuid.UUID, record: SubscriberImport) -> None:
    """A file came to be checked. In the caller's transaction, like all of these."""
    _record(importer, record, ADDITION, "Uploaded to be checked.")


def record_import(importer: uuid.UUID, record: SubscriberImport) -> None:
    """What was checked is to be imported, and on which statement."""
    how = (
        f"with consent given elsewhere: {record.statement}"
        if record.confirmed
        else "asking each reader to confirm"
    )
    _record(importer, record, CHANGE, f"Imported, {how}.")


def record_drop(importer: uuid.UUID, record: SubscriberImport) -> None:
    """What was checked is not to be imported."""
    _record(importer, record, DELETION, "Dropped; nobody was imported.")


def _record(importer: uuid.UUID, record: SubscriberImport, flag: int, sentence: str) -> None:
    LogEntry.objects.create(
        user_id=importer,
        content_type=ContentType.objects.get_for_model(SubscriberImport),
        object_id=str(record.pk),
        object_repr=str(record)[:200],
        action_flag=flag,
        change_message=sentence,
    )
