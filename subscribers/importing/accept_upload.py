"""
Taking a file in: the only place that makes imports, and that decides what the same content means
when it comes again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from subscribers.importing import stored_file
from subscribers.importing.file_format.read_file import ReaderFile
from subscribers.importing.report import Counts
from subscribers.models import SubscriberImport

State = SubscriberImport.State
NOT_IMPORTED = (State.CHECKING, State.CHECKED)
UNDER_WAY = (State.WAITING, State.RUNNING)
ENDED = (State.FINISHED, State.REFUSED, State.EXPIRED)


@dataclass(frozen=True, slots=True)
class Statement:
    """What an importer states: whether consent was given elsewhere, where and how, and who says."""

    confirmed: bool = False
    where: str = ""
    importer: Any = None

    def as_fields(self) -> dict[str, Any]:
        """The columns of an import."""
        return {
            "confirmed": self.confirmed,
            "statement": self.where if self.confirmed else "",
            "imported_by": self.importer,
        }


def brought_before() -> QuerySet[SubscriberImport]:
    """Imports that the same content leads back to. Of those that expired there is nothing left."""
    return SubscriberImport.objects.exclude(state=State.EXPIRED)


def receive_to_check(
    file: ReaderFile, bytes_of_it: BinaryIO, filename: str, importer: Any
) -> tuple[SubscriberImport, bool]:
    """
    Keep a file, to be checked by a worker; the import, and whether it is a new one.

    What was refused is checked once more; whatever else had come before is found as it stands.
    """
    with transaction.atomic():
        record, is_new = _receive(
            file, bytes_of_it, filename, State.CHECKING, Statement(importer=importer)
        )
        if not is_new and record.state == State.REFUSED:
            state = State.WAITING if record.rows else State.CHECKING
            _once_more(record, state, file, bytes_of_it)
        if record.state == State.CHECKED:
            # Whoever brings it again still wants it.
            SubscriberImport.objects.filter(pk=record.pk).update(checked_at=Now())
        return record, is_new


def receive_to_import(
    file: ReaderFile, bytes_of_it: BinaryIO, filename: str, statement: Statement
) -> tuple[SubscriberImport, bool]:
    """
    Keep a file, to be imported; the import, and whether that begins by this call.

    What had only been checked is imported now. What was refused is tried again.
    """
    with transaction.atomic():
        record, is_new = _receive(file, bytes_of_it, filename, State.WAITING, statement)
        if not is_new and record.state == State.REFUSED:
            _once_more(record, State.WAITING, file, bytes_of_it)
            return record, not record.rows
        return record, is_new or decide(record.pk, statement, among=NOT_IMPORTED)


def decide(
    import_id: int, statement: Statement, *, among: tuple[str, ...] = (State.CHECKED,)
) -> bool:
    """
    Have what was checked imported; False if it no longer stands where it can be, such as after a
    second press of the button. The counts of the check make way for those of the import.
    """
    return bool(
        SubscriberImport.objects.filter(pk=import_id, state__in=among).update(
            **_FROM_THE_START, **statement.as_fields(), state=State.WAITING, started_at=Now()
        )
    )


def drop(import_id: int) -> bool:
    """Forget a file that was checked and not imported; False if it is not one of those."""
    with transaction.atomic():
        mine = SubscriberImport.objects.select_for_update().filter(
            pk=import_id, state__in=NOT_IMPORTED
        )
        if not mine.exists():
            return False
        stored_file.forget(import_id)
        with connection.cursor() as cursor:
            for table in ("import_address_seen", "left_out_row"):
                cursor.execute(
                    f"DELETE FROM {table} WHERE subscriber_import_id = %s",  # noqa: S608 -- ours
                    [import_id],
                )
            cursor.execute("DELETE FROM subscriber_import WHERE id = %s", [import_id])
        return True


def _receive(
    file: ReaderFile, bytes_of_it: BinaryIO, filename: str, state: str, statement: Statement
) -> tuple[SubscriberImport, bool]:
    stored_file.refuse_too_large(file.size)
    # Of two that bring it at once the second waits for the first, and finds it.
    record, is_new = (
        brought_before()
        .select_for_update(of=("self",))
        .get_or_create(
            content_hash=file.import_hash,
            defaults={
                "mapping": file.mapping,
                "filename": filename[-255:],
                "size": file.size,
                "read_as": asdict(file.description),
                "state": state,
                **statement.as_fields(),
            },
        )
    )
    if is_new:
        stored_file.keep(record.pk, bytes_of_it, file.content_hash)
    return record, is_new


def _once_more(
    record: SubscriberImport, state: str, file: ReaderFile, bytes_of_it: BinaryIO
) -> None:
    stored_file.forget(record.pk)
    stored_file.keep(record.pk, bytes_of_it, file.content_hash)
    fields: dict[str, Any] = {
        "state": state,
        "refusal": "",
        "finished_at": None,
        "setbacks": 0,
        "owner": None,
        "lease_until": None,
    }
    SubscriberImport.objects.filter(pk=record.pk).update(**fields)
    record.refresh_from_db()


_FROM_THE_START: dict[str, Any] = {
    "rows": 0,
    **asdict(Counts()),
    "skipped_because": {},
    "statuses": {},
    "bytes_read": 0,
    "owner": None,
    "lease_until": None,
    "setbacks": 0,
}
