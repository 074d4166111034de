"""Read, write and check the catalogues in `locale/`."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.catalog import Message as Entry
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings

from tests.translations.extract import (
    REPOSITORY,
    Message,
    for_operators,
    for_readers,
    messages,
)

LANGUAGES = [code for code, _name in settings.LANGUAGES if code != "en"]
# The desk has these languages besides English. All other catalogues have only the texts of readers.
DESK_LANGUAGES = ("de",)
# Write this fixed date into the files. A current date would change the files in every run.
_FIXED = datetime(2026, 11, 28, tzinfo=UTC)
_PLACEHOLDER = re.compile(r"\{\{ ?\w+ ?\}\}|%\(\w+\)s|\{\w*\}")
_TAG = re.compile(r"<[^<>]+>")
# French has a space at these places, and a line must not break there.
_BREAKABLE = re.compile("« | [:;?!»]")


def po_path(code: str) -> Path:
    """Return the path of a catalogue."""
    return REPOSITORY / "locale" / code / "LC_MESSAGES" / "django.po"


def wanted(code: str) -> dict[Message, set[str]]:
    """Return the texts that a catalogue must have, with the files of each text."""
    everything = messages()
    if code in DESK_LANGUAGES:
        return {text: paths for text, paths in everything.items() if not for_operators(paths)}
    return {text: paths for text, paths in everything.items() if for_readers(paths)}


def load(code: str) -> Catalog:
    """Read a catalogue. If there is no file, return an empty catalogue."""
    path = po_path(code)
    if not path.exists():
        return Catalog(locale=code)
    with path.open("rb") as file:
        return read_po(file, locale=code)


def updated(code: str) -> Catalog:
    """Return the catalogue with exactly the wanted texts and their old translations."""
    old = load(code)
    new = Catalog(
        locale=code,
        project="Homing",
        version="1",
        msgid_bugs_address="the project",
        header_comment=old.header_comment,
        creation_date=_FIXED,
        revision_date=_FIXED,
        last_translator="Homing",
        language_team="Homing",
        fuzzy=False,
    )
    for text, paths in sorted(wanted(code).items(), key=lambda item: sorted(item[1])[0]):
        entry = old.get(text if isinstance(text, str) else text[0])
        is_same = entry is not None and entry.id == text
        new.add(
            text,
            entry.string if is_same and entry else None,
            [(path, 1) for path in sorted(paths)],
            flags=entry.flags & {"fuzzy"} if is_same and entry else (),
        )
    return new


def as_po(catalogue: Catalog) -> bytes:
    """Write a catalogue as the text that translators edit."""
    file = io.BytesIO()
    write_po(file, catalogue, width=100, include_lineno=False, ignore_obsolete=True)
    return file.getvalue()


def as_mo(catalogue: Catalog) -> bytes:
    """Compile a catalogue."""
    file = io.BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


def faults(code: str) -> Iterator[str]:
    """List what is wrong with a catalogue: one sentence for each entry."""
    catalogue, needed = load(code), wanted(code)
    present = {entry.id: entry for entry in catalogue if entry.id}
    yield from (f"{code}: missing: {text!r}" for text in needed if text not in present)
    yield from (f"{code}: obsolete: {text!r}" for text in present if text not in needed)
    for text, entry in present.items():
        if text in needed:
            yield from (f"{code}: {fault}: {text!r}" for fault in entry_faults(entry, catalogue))


def entry_faults(entry: Entry, catalogue: Catalog) -> Iterator[str]:
    """List what is wrong with a translation."""
    sources = (entry.id,) if isinstance(entry.id, str) else tuple(entry.id)
    forms = (entry.string,) if isinstance(entry.string, str) else tuple(entry.string)
    if entry.fuzzy:
        yield "fuzzy"
    if not all(forms):
        yield "missing"
        return
    if len(sources) > 1 and len(forms) != catalogue.num_plurals:
        yield f"{len(forms)} plural forms instead of {catalogue.num_plurals}"
    for form in forms:
        found, expected = _parts(form), [_parts(source) for source in sources]
        # A translation for the number one or two may write the number as a word.
        if found not in expected and not (len(sources) > 1 and found <= max(expected, key=len)):
            yield "other placeholders or tags"
        if '"' in _TAG.sub("", form) and not any('"' in source for source in sources):
            yield "straight quotation marks"
        if catalogue.locale_identifier == "fr" and _BREAKABLE.search(form):
            yield "a space that breaks"
        if form.strip() != form and sources[0].strip() == sources[0]:
            yield "spaces around it"


def _parts(text: str) -> Counter[str]:
    return Counter(_PLACEHOLDER.findall(text) + _TAG.findall(text))
