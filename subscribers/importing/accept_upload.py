"""Store an uploaded file for an import, or find an earlier import of its content."""

import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import Any, BinaryIO, NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.tasks.run_leased_task import NO_LEASE
from subscribers.fields.find_tags import find_or_add_tags
from subscribers.fields.own_fields import load_fields
from subscribers.files.file_pieces import spooled, store_pieces
from subscribers.importing.file_format.files_in_zip import open_lists, posts_in
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.read_file import ReaderFile
from subscribers.importing.file_format.recognise_columns import read_mapping
from subscribers.importing.move.fields_and_tags_of_export import add_fields_and_tags
from subscribers.importing.rejects_file import find_reading
from subscribers.models import ImportPiece, ImportSeenAddress, RejectedRow, SubscriberImport
from subscribers.models.subscriber_import import NO_COUNTS, WITHOUT_CONTENT
from subscribers.record_activity import record_import_activity

State = SubscriberImport.State
NOT_IMPORTED = (State.CHECKING, State.CHECKED)
ENDED = (State.FINISHED, State.REFUSED, *WITHOUT_CONTENT)
UNCLAIMED: dict[str, Any] = {**NO_LEASE, "claims": 0}


class Statement(NamedTuple):
    """The importer's statement about the readers' consent, and choices for the import."""

    confirmed: bool = False  # the readers gave their consent elsewhere
    where: str = ""  # where and how the readers gave their consent
    # Like `confirmed`, but only for readers whose status says nothing about the subscription.
    list_is_confirmed: bool = False
    # The readers of all valid rows get these tags. Tags that do not exist are created.
    tags: Sequence[str] = ()
    welcome: bool = False  # send the welcome letter to added readers who are confirmed

    def columns(self, importer: Any = None) -> dict[str, Any]:
        """Return the statement as values of an import's columns.

        Call this in the transaction that writes the columns.
        """
        made: set[int] = set()
        ids = sorted(set(find_or_add_tags(self.tags, made).values())) if self.tags else []
        where = CONTROL_CHARACTERS.sub(" ", self.where).strip()
        return {
            **({"made": {"tags": sorted(made)}} if made else {}),
            "confirmed": self.confirmed,
            "statement": where if self.confirmed else "",
            "list_is_confirmed": self.list_is_confirmed and self.confirmed,
            "imported_by": importer,
            "tags": ids,
            "welcome": self.welcome and self.confirmed,
        }


def existing_imports() -> QuerySet[SubscriberImport]:
    """Select the earlier imports that an upload of the same content can find."""
    return SubscriberImport.objects.exclude(state__in=WITHOUT_CONTENT)


def accept_lists(
    content: BinaryIO, filename: str, importer: Any, columns: Sequence[str] = ()
) -> tuple[list[tuple[SubscriberImport, bool]], list[str]]:
    """In the caller's transaction, store each list of an upload for a check.

    Return two lists. The first list has pairs: an import, and whether it is new. The second list
    has the names of fields and tags that were added because the upload is an export of another
    Homing. `columns` are options such as `Town=city`.
    """
    added = add_fields_and_tags(content, importer.pk)
    fields = load_fields()
    mapping = read_mapping(columns, fields)
    found = []
    with open_lists(content, filename, largest_size()) as lists:
        posts = posts_in(content)
        for one, name in lists:
            with ReaderFile(one, name, mapping, fields, find_reading) as readers:
                record, is_new = store_for_check(readers, one, name, importer, posts)
            if is_new:
                record_import_activity("upload", importer.pk, record)
            found.append((record, is_new))
    return found, added


def store_for_check(
    file: ReaderFile, content: BinaryIO, filename: str, importer: Any, posts: int = 0
) -> tuple[SubscriberImport, bool]:
    """Store a file for a check if its content is new or was refused earlier.

    Return the file's import, and whether the import is new.

    `posts` is the number of posts in the same ZIP file.
    """
    file.description = replace(file.description, posts=posts)
    with transaction.atomic():
        stated = Statement().columns(importer)
        record, is_new = _get_or_create(file, content, filename, State.CHECKING, stated)
        if not is_new and record.state == State.REFUSED:
            state = State.WAITING if record.rows else State.CHECKING
            _retry(record, state, file, content)
        if record.state == State.CHECKED:
            # The new upload shows that the importer still needs the file, so restart the time until
            # the file expires.
            SubscriberImport.objects.filter(pk=record.pk).update(checked_at=Now())
        return record, is_new


def store_for_import(
    file: ReaderFile, content: BinaryIO, filename: str, stated: dict[str, Any]
) -> tuple[SubscriberImport, bool]:
    """Store a file for import; return the import and whether this call starts it."""
    with transaction.atomic():
        record, is_new = _get_or_create(file, content, filename, State.WAITING, stated)
        if not is_new and record.state == State.REFUSED:
            _retry(record, State.WAITING, file, content)
            return record, not record.rows
        return record, is_new or start_import(record.pk, stated, from_states=NOT_IMPORTED)


def start_import(
    import_id: int, stated: dict[str, Any], *, from_states: tuple[str, ...] = (State.CHECKED,)
) -> bool:
    """Start an import at its first row; False if its state is not in `from_states`."""
    imports = SubscriberImport.objects.filter(pk=import_id, state__in=from_states)
    if "made" in stated:  # also keep the fields that the check made
        earlier = imports.values_list("made", flat=True).first() or {}
        stated = {**stated, "made": {**earlier, **stated["made"]}}
    return bool(
        imports.update(**NO_COUNTS, **UNCLAIMED, **stated, state=State.WAITING, requested_at=Now())
    )


def start_leavers_beside(record: SubscriberImport, importer: Any) -> list[SubscriberImport]:
    """Start importing this upload's other checked files that only suppress addresses."""
    beside = SubscriberImport.objects.filter(upload=record.upload, state=State.CHECKED, added=0)
    if record.upload is None:
        return []
    return [
        other
        for other in beside.exclude(pk=record.pk).order_by("id")
        if other.names_leavers and start_import(other.pk, Statement().columns(importer))
    ]


def discard(import_id: int, by: uuid.UUID | None = None) -> bool:
    """Delete a file that is not imported yet; return False if there is none.

    If `by` is None, the deletion is not logged.
    """
    with transaction.atomic():
        imports = SubscriberImport.objects.select_for_update()
        record = imports.filter(pk=import_id, state__in=NOT_IMPORTED).first()
        if record is None:
            return False
        if by is not None:
            record_import_activity("discard", by, record)
        ImportPiece.objects.filter(subscriber_import=import_id).delete()
        delete_noted_rows(import_id)
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM subscriber_import WHERE id = %s", [import_id])
        return True


def spooled_import(import_id: int) -> AbstractContextManager[BinaryIO]:
    """Copy the stored content to a temporary file."""
    return spooled(ImportPiece.objects.filter(subscriber_import=import_id), "homing-import-")


def largest_size() -> int:
    """Return the largest allowed size of a file, in bytes."""
    return settings.IMPORT_MAX_MB * 1024 * 1024


def too_large() -> UnreadableFileError:
    """Return the error for a file that exceeds the largest allowed size."""
    return UnreadableFileError("file_too_large", limit_mb=settings.IMPORT_MAX_MB)


def delete_noted_rows(import_id: int) -> None:
    """Delete an import's rejected rows and seen addresses in the caller's transaction."""
    ImportSeenAddress.objects.filter(subscriber_import=import_id).delete()
    RejectedRow.objects.filter(subscriber_import=import_id).delete()


def _get_or_create(
    file: ReaderFile, content: BinaryIO, filename: str, state: str, stated: dict[str, Any]
) -> tuple[SubscriberImport, bool]:
    if file.size > largest_size():
        raise too_large()
    # If the same file is uploaded twice at the same time, the second upload waits here and finds
    # the import of the first.
    record, is_new = (
        existing_imports()
        .select_for_update(of=("self",))
        .get_or_create(
            content_hash=file.import_hash,
            defaults={
                "mapping": file.mapping,
                "filename": filename[-255:],
                "total": file.size,
                "read_as": asdict(file.description),
                "state": state,
                **stated,
            },
        )
    )
    if is_new:
        _store_content(record, file, content)
    return record, is_new


def _store_content(record: SubscriberImport, file: ReaderFile, content: BinaryIO) -> None:
    if store_pieces(content, ImportPiece, subscriber_import=record) != file.content_hash:
        raise UnreadableFileError("file_changed")


def _retry(record: SubscriberImport, state: str, file: ReaderFile, content: BinaryIO) -> None:
    ImportPiece.objects.filter(subscriber_import=record).delete()
    _store_content(record, file, content)
    SubscriberImport.objects.filter(pk=record.pk).update(
        **UNCLAIMED, state=state, error=None, finished_at=None
    )
    record.refresh_from_db()
