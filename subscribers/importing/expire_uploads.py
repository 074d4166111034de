"""Delete uploaded files that were never imported, and old rejected rows.

The row of the import itself stays in the database.
"""

from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from delivery.interface import short_transaction
from delivery.retention.batched_delete import MAX_LOCK_WAIT_S, OldRows
from subscribers.importing.accept_upload import delete_noted_rows
from subscribers.models import ImportPiece, SubscriberImport
from subscribers.models.subscriber_import import NO_COUNTS, State


def expire_file() -> bool:
    """Delete a file that was checked but not imported in `IMPORT_EXPIRES_DAYS`.

    Return False if there is no such file.
    """
    with short_transaction() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{MAX_LOCK_WAIT_S}s'")
        # Skip imports whose rows are locked now; a later call deletes their files.
        record = _expired().select_for_update(skip_locked=True).order_by("id").first()
        if record is None:
            return False
        ImportPiece.objects.filter(subscriber_import=record).delete()
        delete_noted_rows(record.pk)
        imports = SubscriberImport.objects.filter(pk=record.pk)
        imports.update(**NO_COUNTS, state=State.EXPIRED, finished_at=Now(), read_as=None)
        return True


def count_expired() -> int:
    """Count the files that `expire_file` would delete."""
    return _expired().count()


def old_rejected_rows(days: float) -> OldRows:
    """Return the rejected and skipped rows of old imports, which may be deleted."""
    ended = "(SELECT finished_at FROM subscriber_import WHERE id = subscriber_import_id)"
    return OldRows("rejected_row", ["subscriber_import_id", "line"], ended, days, in_order=False)


def _expired() -> QuerySet[SubscriberImport]:
    before = Now() - timedelta(days=settings.IMPORT_EXPIRES_DAYS)
    return SubscriberImport.objects.filter(state=State.CHECKED, checked_at__lt=before)
