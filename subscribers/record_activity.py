"""Log the activity of users, as codes and parameters that desk and admin explain."""

import json
import logging
import uuid
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model

from subscribers.models import Subscriber, SubscriberImport

logger = logging.getLogger(__name__)

_FLAGS = {"add": ADDITION, "erase": DELETION, "upload": ADDITION, "discard": DELETION}


def record_activity(
    code: str,
    by: uuid.UUID,
    thing: type[Model] | Model,
    *,
    name: str = "",
    key: object = None,
    flag: int = CHANGE,
    **params: Any,
) -> None:
    """Record an action of a user on `thing`, a row of the database.

    If the row may already be deleted, pass its model as `thing`, and its name as `name`.
    """
    if isinstance(thing, Model):
        name, key = name or str(thing), thing.pk
    LogEntry.objects.create(
        user_id=by,
        content_type=ContentType.objects.get_for_model(thing),
        object_id=None if key is None else str(key),
        object_repr=name[:200],
        action_flag=flag,
        change_message=json.dumps({"code": code, **params}, ensure_ascii=False),
    )


def record_reader_activity(code: str, by: uuid.UUID, reader: int, **params: Any) -> None:
    """Record an action on one reader, with the reader's id and without the address."""
    name, flag = f"subscriber {reader}", _FLAGS.get(code, CHANGE)
    record_activity(code, by, Subscriber, name=name, key=reader, flag=flag, **params)


def record_readers_activity(
    action: str, by: uuid.UUID, *, readers: int, tag: str, reason: str = ""
) -> None:
    """Record an action on this number of readers, with the author's reason if needed."""
    code, flag = "change_readers", _FLAGS.get(action, CHANGE)
    params: dict[str, Any] = {"action": action, "readers": readers, "tag": tag}
    params |= {"reason": reason} if reason else {}
    record_activity(code, by, Subscriber, name="readers", flag=flag, **params)


def record_export(by: uuid.UUID, state: str) -> None:
    """Record a download of all readers, readers in one state, or suppressed addresses."""
    record_activity("download_list", by, Subscriber, name="the list", state=state)
    logger.info("the list of %s was downloaded", f"{state} readers" if state else "readers")


def record_import_activity(
    code: str, by: uuid.UUID, record: SubscriberImport, *, added: int | None = None
) -> None:
    """Record an `upload`, `import`, `undo` or `discard` of a file.

    `added` is the number of readers that an import would add.
    """
    is_stated = code == "import" and record.confirmed
    params: dict[str, Any] = {"statement": record.statement} if is_stated else {}
    if code == "import" and not is_stated:
        params["added"] = added
    flag = _FLAGS.get(code, CHANGE)
    record_activity(code, by, record, name=record.filename, flag=flag, **params)
