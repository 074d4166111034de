"""Sentences about the undo of an import, for the page, the command and the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delivery.humanise import digits
from subscribers.models import SubscriberImport

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

State = SubscriberImport.State

# The counts of `SubscriberImport.undo_counts`, each with its note.
RESULTS: Mapping[str, tuple[StrPromise, StrPromise]] = {
    "undone": (gettext_lazy("Removed"), gettext_lazy("no longer on the list")),
    "kept_mailed": (gettext_lazy("Kept: mailed"), gettext_lazy("an email was sent or queued")),
    "kept_opted_in": (
        gettext_lazy("Kept: opted in"),
        gettext_lazy("signed up or confirmed themselves"),
    ),
    "kept_changed": (gettext_lazy("Kept: changed"), gettext_lazy("edited since the import")),
    "deleted": (gettext_lazy("Deleted before"), gettext_lazy("erased, or never confirmed")),
}


def undo_lines(record: SubscriberImport) -> Iterator[tuple[str, int, str]]:
    """Return name, count and note of each result of an undo."""
    for name, count in record.undo_counts.items():
        label, note = RESULTS[name]
        yield str(label), count, str(note) if count else ""


def undo_sentence(record: SubscriberImport) -> str:
    """Describe an undo that runs or has ended."""
    if record.state == State.UNDOING:
        return _("The import is being undone. Readers removed so far: {n}, kept: {kept}.").format(
            n=digits(record.undone), kept=digits(record.kept)
        )
    undone = _("Undone. Added readers removed: {undone} of {added}.").format(
        undone=digits(record.undone), added=digits(record.added)
    )
    kept = ngettext("{n} stays on the list.", "{n} stay on the list.", record.kept)
    again = _("The same file can be imported again.")
    stays = [kept.format(n=digits(record.kept))] if record.kept else []
    return " ".join([undone, *stays, *_made_sentences(record), again])


def _made_sentences(record: SubscriberImport) -> Iterator[str]:
    """Name the tags and fields that an undo deleted, and those that it kept."""
    unmade = record.unmade or {}
    for name, sentence in (
        ("deleted", _("Tags and fields that it made were deleted: {names}.")),
        ("kept", _("These are in use and stay: {names}.")),
    ):
        if names := unmade.get(name):
            yield sentence.format(names=get_text_list(names, _("and")))


def why_not_undone(record: SubscriberImport) -> str:
    """Explain why an import cannot be undone now; empty if it can be."""
    if record.can_be_undone:
        return ""
    match record.state:
        case State.UNDOING:
            return _("The import is being undone already.")
        case State.UNDONE:
            return _("The import was undone before.")
        case State.WAITING | State.RUNNING:
            return _("The import has not ended yet. Undo it when it has.")
    return _("The file was not imported, so there is nothing to undo.")
