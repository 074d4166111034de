"""Import the sample readers, and refuse a database with other readers."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import connection

from newsletter_site.demo.child_processes import DemoError
from newsletter_site.demo.terminal import StopSignals
from subscribers.confirmed_readers import confirmed
from subscribers.importing.import_file import ImportReport, import_file
from subscribers.models import RejectedRow, Subscriber

FILE: Path = settings.BASE_DIR / "publishing" / "demo_material" / "readers.csv"


class ImportedReaders(NamedTuple):
    """What the import did, and how many readers get mail now."""

    report: ImportReport
    rejected: list[RejectedRow]
    total: int
    mailable: int


def refuse_other_readers() -> None:
    """Raise `DemoError` if the database has readers that the demo did not import."""
    if Subscriber._meta.db_table not in connection.introspection.table_names():
        return
    ours = hashlib.sha256(FILE.read_bytes()).digest()
    others = Subscriber.objects.exclude(subscriber_import__content_hash=ours).count()
    if others:
        raise DemoError(
            f"The database has {others:,} {'reader' if others == 1 else 'readers'} that the demo "
            "did not import, so it stops before it changes anything: name an empty folder with "
            "HOMING_DATA_DIR, or an empty database with DATABASE_URL."
        )


def import_readers(stop: StopSignals) -> ImportedReaders:
    """Import the file as its owner would, with consent given elsewhere."""
    rejected: list[RejectedRow] = []

    def keep(row: RejectedRow) -> None:
        if row.result == RejectedRow.Result.REJECTED:
            rejected.append(row)

    report = import_file(FILE, confirmed=True, on_rejected=keep, on_progress=lambda _: stop.check())
    return ImportedReaders(report, rejected, Subscriber.objects.count(), confirmed().count())
