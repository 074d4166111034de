"""Change fields and tags, and remove deleted fields and tags from the readers."""

import uuid
from collections.abc import Callable

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.db import connection, transaction
from django.db.models import Max

from delivery.interface import short_transaction
from delivery.models import Edition
from delivery.tasks.register_background_task import BackgroundTask
from subscribers.models import DeletedFieldOrTag, ReaderFieldDefinition, Tag
from subscribers.models.fields_and_tags import MOST_FIELDS
from subscribers.record_activity import record_activity

CHUNK = 5_000  # readers
_FIELDS = "SELECT pg_advisory_xact_lock(hashtextextended('homing: fields of readers', 0))"

# Remove a field or tag from a chunk of readers, in the order of their ids. Return the last id of
# the chunk.
_REMOVE = """
    WITH chunk AS (
        SELECT id FROM subscriber WHERE id > %(after)s ORDER BY id LIMIT %(limit)s
           FOR NO KEY UPDATE
    ), removed AS (
        UPDATE subscriber SET {change} FROM chunk
         WHERE subscriber.id = chunk.id AND {has_it}
    )
    SELECT max(id) FROM chunk
"""
_REMOVE_FIELD = _REMOVE.format(
    change="fields = fields - %(key)s::text", has_it="jsonb_exists(fields, %(key)s)"
)
_REMOVE_TAG = _REMOVE.format(
    change="tags = array_remove(tags, %(key)s::integer), "
    "left_topics = array_remove(left_topics, %(key)s::integer)",
    has_it="%(key)s::integer = ANY (tags || left_topics)",
)
# Two scans of the table are faster than one scan with a subquery for each reader.
_COUNT_READERS = """
    SELECT 'tag', tag::text, count(*) FROM subscriber, unnest(tags) AS tag GROUP BY tag
    UNION ALL
    SELECT 'field', key, count(*) FROM subscriber, jsonb_object_keys(fields) AS key GROUP BY key
"""

_find_draft: list[tuple[Callable[[int], str], Callable[[str], bool]]] = []


class TagInUseError(Exception):
    """The error for a tag that a scheduled issue or an open draft uses."""

    def __init__(self, title: str, *, is_draft: bool) -> None:
        super().__init__(title)
        self.is_draft = is_draft


def register_drafts(with_tag: Callable[[int], str], with_field: Callable[[str], bool]) -> None:
    """Register two functions that find an open draft: one by tag, one by field."""
    _find_draft[:] = [(with_tag, with_field)]


def draft_uses(*, tag: int | None = None, field: str = "") -> bool:
    """Return whether an open draft uses this tag, or may use this field."""
    ((with_tag, with_field),) = _find_draft
    return bool(with_tag(tag) if tag is not None else with_field(field))


def can_add_field() -> bool:
    """Return whether the limit on fields allows another field."""
    return ReaderFieldDefinition.objects.count() < MOST_FIELDS


@transaction.atomic
def add_field(field: ReaderFieldDefinition, by: uuid.UUID | None) -> bool:
    """Add a field at the end; return False if 20 fields exist or the key is taken.

    `by` None is not logged.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FIELDS)
    last = ReaderFieldDefinition.objects.aggregate(last=Max("position"))["last"] or 0
    if not can_add_field() or ReaderFieldDefinition.objects.filter(key=field.key).exists():
        return False
    field.position = last + 1
    field.save(force_insert=True)
    if by is not None:
        record_activity("add", by, field, name=f"field {field.key}", flag=ADDITION)
    return True


@transaction.atomic
def move_field(key: str, by: int) -> None:
    """Swap a field with the next field if `by` is 1, with the previous if it is -1."""
    with connection.cursor() as cursor:
        cursor.execute(_FIELDS)
    keys = list(ReaderFieldDefinition.objects.order_by("position").values_list("key", flat=True))
    if key not in keys or not 0 <= keys.index(key) + by < len(keys):
        return
    place = keys.index(key)
    keys[place], keys[place + by] = keys[place + by], keys[place]
    _number(keys)


def _number(keys: list[str]) -> None:
    for number, key in enumerate(keys, 1):
        ReaderFieldDefinition.objects.filter(key=key).update(position=number)


def count_readers() -> dict[tuple[str, str], int]:
    """Count the readers of each tag and field, by kind and key.

    This reads all readers.
    """
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_READERS)
        return {(kind, key): readers for kind, key, readers in cursor}


@transaction.atomic
def delete_field(key: str, by: uuid.UUID | None) -> bool:
    """Delete a field. Workers remove the values from the readers.

    `by` None is not logged.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FIELDS)
    if not ReaderFieldDefinition.objects.filter(key=key).delete()[0]:
        return False
    _number(list(ReaderFieldDefinition.objects.order_by("position").values_list("key", flat=True)))
    DeletedFieldOrTag.objects.create(kind=DeletedFieldOrTag.Kind.FIELD, key=key)
    name = f"field {key}"
    if by is not None:
        record_activity("delete", by, ReaderFieldDefinition, name=name, flag=DELETION)
    return True


@transaction.atomic
def delete_tag(tag: int, by: uuid.UUID | None) -> bool:
    """Delete a tag; workers remove it from the readers. If `by` is None, log nothing.

    Raises `TagInUseError` if an issue or a draft uses the tag. If a tag that an issue excludes were
    deleted, the issue would reach more readers.
    """
    # Saving a draft or an issue locks its tags. This statement waits for such locks of this tag, so
    # the check below sees a draft or issue that was just saved.
    found = Tag.objects.select_for_update().filter(pk=tag).first()
    if found is None:
        return False
    for edition in Edition.objects.filter(control=Edition.Control.SCHEDULED):
        if tag in [each for each, _ in (*edition.with_tags, *edition.without_tags)]:
            raise TagInUseError(edition.title, is_draft=False)
    if title := _find_draft[0][0](tag):
        raise TagInUseError(title, is_draft=True)
    found.delete()
    DeletedFieldOrTag.objects.create(kind=DeletedFieldOrTag.Kind.TAG, key=str(tag))
    if by is not None:
        record_activity("delete", by, Tag, name=f"tag {found.name}", flag=DELETION)
    return True


def record_saved(code: str, thing: ReaderFieldDefinition | Tag, by: uuid.UUID) -> None:
    """Record that a field or a tag was added or edited."""
    kind = "tag" if isinstance(thing, Tag) else "field"
    flag = ADDITION if code == "add" else CHANGE
    record_activity(code, by, thing, name=f"{kind} {thing}", flag=flag)


def remove_chunk(is_stopping: Callable[[], bool] = lambda: False) -> bool:
    """Remove a deleted field or tag from a chunk of readers; False if none is left."""
    with short_transaction() as cursor:
        rows = DeletedFieldOrTag.objects.select_for_update(skip_locked=True).order_by("pk")
        removed = rows.first()
        if removed is None:
            return False
        is_field = removed.kind == DeletedFieldOrTag.Kind.FIELD
        cursor.execute(
            _REMOVE_FIELD if is_field else _REMOVE_TAG,
            {"key": removed.key, "after": removed.after, "limit": CHUNK},
        )
        (last,) = cursor.fetchone()
        if last is None:
            removed.delete()
        else:
            removed.after = last
            removed.save(update_fields=["after"])
    return True


REMOVAL_TASK = BackgroundTask(
    "deleted fields and tags", remove_chunk, lambda: [DeletedFieldOrTag.objects.all()]
)
