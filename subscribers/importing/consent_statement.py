"""The words in which an importer's statement stands in the ledger of consent."""

from __future__ import annotations

from subscribers.models import SubscriberImport

AT_THE_COMMAND_LINE = "an operator at the command line"


def detail_of(record: SubscriberImport) -> str:
    """What is recorded beside everybody whom this import adds; nothing where consent is asked."""
    if not record.confirmed:
        return ""
    said = f"Consent was given elsewhere, says {importer_of(record)}"
    return f"{said}: {record.statement}" if record.statement else f"{said}."


def importer_of(record: SubscriberImport) -> str:
    """Who imported it, by name."""
    if record.imported_by is None:
        return AT_THE_COMMAND_LINE
    return record.imported_by.get_full_name() or record.imported_by.get_username()
