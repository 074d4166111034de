"""Undo imports: remove added readers who were neither mailed nor changed.

An undo runs under the import's lease, in chunks: ranges of readers' ids. Each chunk writes a
checkpoint. An undo can also delete the tags and fields that the import made.
"""

import uuid
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from django.db import connection, reset_queries
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from delivery.interface import wait_for_enqueues
from delivery.models import Edition
from delivery.retention.anonymise import anonymise_unconfirmed
from delivery.retention.mailed_recipients import Mailed, load_mailed
from delivery.tasks.run_leased_task import ClaimedTask
from subscribers.field_and_tag_settings.change_fields_and_tags import (
    delete_field,
    delete_tag,
    draft_uses,
)
from subscribers.importing.accept_upload import UNCLAIMED
from subscribers.models import ReaderFieldDefinition, Subscriber, SubscriberImport, Tag
from subscribers.models.subscriber_import import KEPT

State = SubscriberImport.State

CHUNK = 1_000  # ids; the addresses of a chunk fit into a socket's buffer (apply_rows.py)

_OPEN = (State.CHECKING, State.CHECKED, State.WAITING, State.RUNNING)

READERS = """
    SELECT id, email_key, CASE WHEN confirmed_at IS NOT NULL THEN created_at END,
           opt_in_id IS NOT NULL OR coalesce(since.asked, false),
           edited_at IS NOT NULL OR since.asked IS NOT NULL
      FROM subscriber CROSS JOIN LATERAL (
           SELECT bool_or(act IN ('asked', 'confirmed')
                          AND how IN ('form', 'embedded form', 'archive', 'link')) AS asked
             FROM consent_record
            WHERE subscriber_id = subscriber.id AND act <> 'imported') AS since
     WHERE subscriber_import_id = %s AND id BETWEEN %s AND %s
"""
DELETE = (
    "SELECT set_config('homing.undoing', %(import)s::text, true)",
    "DELETE FROM subscriber WHERE id = ANY(%(readers)s)",
    "DELETE FROM bounce WHERE subscriber_id = ANY(%(readers)s)",
    "DELETE FROM consent_record WHERE subscriber_id = ANY(%(readers)s)",
    "SELECT set_config('homing.undoing', '', true)",
)


class AddedReader(NamedTuple):
    """The facts that decide whether an undo removes a reader."""

    id: int
    email_key: str
    mailed_from: datetime | None  # before this, no issue was sent to them; None if none ever was
    opted_in: bool
    is_changed: bool


def start_undo(import_id: int, *, made_too: bool = False, by: uuid.UUID | None = None) -> bool:
    """Let a worker undo an import; return False if the import cannot be undone.

    With `made_too`, the undo also deletes the tags and fields that the import made, if nothing else
    uses them.
    """
    has_ended = Q(state=State.FINISHED) | Q(state=State.REFUSED, rows__gt=0)
    imports = SubscriberImport.objects.filter(has_ended, pk=import_id)
    return bool(
        imports.update(
            **UNCLAIMED,
            state=State.UNDOING,
            unmade={"by": str(by) if by else ""} if made_too else None,
        )
    )


def count_unchanged(import_id: int) -> int:
    """Count the readers whom an undo may remove; mailed readers will stay."""
    unchanged = Subscriber.objects.filter(edited_at=None, opt_in=None)
    return unchanged.filter(subscriber_import=import_id).count()


def run_undo(
    running: ClaimedTask[SubscriberImport], on_progress: Callable[[SubscriberImport], None]
) -> None:
    """Undo an import chunk by chunk. Raises `TaskInterruptedError`."""
    record = running.task
    readers = Subscriber.objects.filter(subscriber_import=record.pk).order_by("pk")
    ids = readers.values_list("pk", flat=True)
    while (first := ids.filter(pk__gt=record.undo_checkpoint).first()) is not None:
        _undo_chunk(running, first)
        on_progress(record)
        running.heartbeat()
    with running.step():
        running.hold()
        unmade = record.unmade
        if unmade is not None:
            by = unmade.get("by")
            made = delete_made(record, uuid.UUID(by) if by else None)
            unmade = {"deleted": made.free, "kept": made.used}
        ended = {"finished_at": F("finished_at"), "undone_at": Now(), "claims": 0}
        running.end(State.UNDONE, **ended, unmade=unmade)
    with connection.cursor() as cursor:  # update the planner's statistics, as after an import
        cursor.execute("ANALYZE (SKIP_LOCKED) subscriber, consent_record")


def why_kept(reader: AddedReader, mailed: Mailed) -> str:
    """Return why a reader stays, as a name in `KEPT`; empty to remove the reader."""
    if reader.opted_in:
        return "kept_opted_in"
    until, since = mailed.dropped_until, reader.mailed_from
    may_be_mailed = until is not None and since is not None and since < until
    if reader.id in mailed.recipients or may_be_mailed:
        return "kept_mailed"
    return "kept_changed" if reader.is_changed else ""


def _undo_chunk(running: ClaimedTask[SubscriberImport], first: int) -> None:
    record, last = running.task, first + CHUNK - 1
    with running.step() as cursor:
        wait_for_enqueues()
        running.hold()
        # Lock batches before readers, in the same order as a worker that settles batches.
        mailed = load_mailed(first, last)
        # Lock the readers in a separate statement, so that the next statement sees what other
        # transactions wrote before the lock.
        locked = Subscriber.objects.filter(subscriber_import=record.pk, pk__range=(first, last))
        list(locked.select_for_update().order_by("pk").values_list("pk"))
        cursor.execute(READERS, [record.pk, first, last])
        readers = [AddedReader(*row) for row in cursor.fetchall()]
        kept = {reader.id: why for reader in readers if (why := why_kept(reader, mailed))}
        gone = {reader.id: reader.email_key for reader in readers if reader.id not in kept}
        if gone:
            for statement in DELETE:
                cursor.execute(statement, {"import": record.pk, "readers": list(gone)})
            anonymise_unconfirmed(gone, mailed.issues)
        counts = Counter(kept.values()) + Counter(undone=len(gone))
        found = {name: getattr(record, name) + counts[name] for name in ("undone", *KEPT)}
        running.checkpoint(**found, undo_checkpoint=last)
    reset_queries()  # in debug mode, Django keeps all queries in memory


class MadeThings(NamedTuple):
    """Names of tags and fields that an import made; nothing else uses those in `free`."""

    free: list[str]
    used: list[str]


def find_made(record: SubscriberImport) -> MadeThings:
    """Find which tags and fields an undo could delete if it removed all added readers."""
    found = MadeThings([], [])
    others = Subscriber.objects.exclude(subscriber_import=record.pk)
    for tag in _tags(record):
        (found.used if _tag_is_used(tag, others) else found.free).append(tag.name)
    for field in _fields(record):
        (found.used if _field_is_used(field, others) else found.free).append(field.label)
    return found


def delete_made(record: SubscriberImport, by: uuid.UUID | None) -> MadeThings:
    """Delete unused tags and fields of an import; return deleted and kept names.

    Runs in the caller's transaction.
    """
    found = MadeThings([], [])
    readers = Subscriber.objects.all()
    # While a tag or field is locked here, no reader can get it.
    for tag in _tags(record).select_for_update():
        is_deleted = not _tag_is_used(tag, readers) and delete_tag(tag.pk, by)
        (found.free if is_deleted else found.used).append(tag.name)
    for field in _fields(record).select_for_update():
        is_deleted = not _field_is_used(field, readers) and delete_field(field.key, by)
        (found.free if is_deleted else found.used).append(field.label)
    return found


def _tags(record: SubscriberImport) -> QuerySet[Tag]:
    return Tag.objects.filter(pk__in=record.made.get("tags", ())).order_by("pk")


def _fields(record: SubscriberImport) -> QuerySet[ReaderFieldDefinition]:
    made = record.made.get("fields", ())
    return ReaderFieldDefinition.objects.filter(pk__in=made).order_by("pk")


def _tag_is_used(tag: Tag, readers: QuerySet[Subscriber]) -> bool:
    """Return whether the tag is a topic, or a reader, letter or open import uses it."""
    with_tag = Q(tags__contains=[tag.pk]) | Q(left_topics__contains=[tag.pk])
    # An edition stores pairs of a tag's id and the tag's earlier name. Compare only the ids,
    # because the name may have changed.
    editions = Edition.objects.exclude(with_tags=[], without_tags=[])
    pairs = editions.values_list("with_tags", "without_tags")
    return (
        tag.is_topic
        or draft_uses(tag=tag.pk)
        or any(tag.pk == number for both in pairs for some in both for number, _ in some)
        or SubscriberImport.objects.filter(state__in=_OPEN, tags__contains=[tag.pk]).exists()
        or readers.filter(with_tag).exists()
    )


def _field_is_used(field: ReaderFieldDefinition, readers: QuerySet[Subscriber]) -> bool:
    """Return whether a reader, a letter, an open import or the form uses a field."""
    open_imports = SubscriberImport.objects.filter(state__in=_OPEN)
    mappings = open_imports.values_list("mapping", flat=True)
    return (
        field.on_form
        or draft_uses(field=field.key)
        or Edition.objects.filter(merge_fields__contains=[field.key]).exists()
        or any(to == field.key for mapping in mappings for _, to in mapping)
        or readers.filter(fields__has_key=field.key).exists()
    )
