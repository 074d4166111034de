"""The readers of the demo, and the promise that nobody else's readers are touched."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection

from newsletter_site.demo.failure import DemoError
from subscribers.audience import confirmed
from subscribers.importing import ImportReport, LeftOut, import_file
from subscribers.models import Subscriber

FILE: Path = settings.BASE_DIR / "publishing" / "demo_material" / "readers.csv"


@dataclass(frozen=True, slots=True)
class Readers:
    """What the import did, and who of the list gets mail now."""

    report: ImportReport
    rejected: tuple[LeftOut, ...]
    on_the_list: int
    mailable: int
    states: Counter[str]


def refuse_other_readers() -> None:
    """
    Raise `DemoError` if the database holds readers that the demo did not import.

    Asked before anything is changed, also of a database without tables.
    """
    if Subscriber._meta.db_table not in connection.introspection.table_names():
        return
    ours = hashlib.sha256(FILE.read_bytes()).digest()
    others = Subscriber.objects.exclude(subscriber_import__content_hash=ours).count()
    if others:
        raise DemoError(
            f"The database holds {others:,} {'reader' if others == 1 else 'readers'} that the demo "
            "did not bring, so it stops before it changes anything: name an empty folder with "
            "HOMING_DATA_DIR, or an empty database with DATABASE_URL."
        )


def bring_in(look: Callable[[], None]) -> Readers:
    """Import the file as its owner would, with consent given elsewhere. `look` may stop it."""
    rejected: list[LeftOut] = []

    def keep(row: LeftOut) -> None:
        if row.is_rejected:
            rejected.append(row)

    report = import_file(FILE, confirmed=True, on_left_out=keep, on_progress=lambda _: look())
    states = Counter(Subscriber.objects.values_list("state", flat=True))
    return Readers(report, tuple(rejected), states.total(), confirmed().count(), states)
