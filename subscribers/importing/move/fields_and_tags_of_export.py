"""Add the fields and tags in the export of another Homing."""

import json
import uuid
from typing import Any, BinaryIO

from subscribers.field_and_tag_settings.change_fields_and_tags import add_field, record_saved
from subscribers.field_and_tag_settings.field_and_tag_forms import FieldForm, TagForm
from subscribers.files.zip_entries import UnusableZipError, ZipEntries
from subscribers.importing.file_format.files_in_zip import HOMING_MARK, is_zip
from subscribers.models import ReaderFieldDefinition, Tag

_MOST_BYTES = 1024 * 1024
_MOST_OF_EACH = 1_000  # not more than the number of tags that an import can add


def add_fields_and_tags(file: BinaryIO, by: uuid.UUID | None) -> list[str]:
    """Add an export's fields and tags that Homing lacks; return their names.

    If the file is not an export of Homing, nothing is added. Fields and tags that the settings page
    would refuse are not added. Call this in a transaction. `by` is None on the command line.
    """
    if not is_zip(file):
        return []
    try:
        entries = ZipEntries(file)
        if entries.find(HOMING_MARK) is None:
            return []
        fields, tags = (_read_list(entries, name) for name in ("fields.json", "tags.json"))
    except UnusableZipError:
        return []  # `open_lists` reports the error later
    return [*_add_fields(fields, by), *_add_tags(tags, by)]


def _read_list(entries: ZipEntries, name: str) -> list[dict[str, Any]]:
    path = entries.find(name)
    try:
        found = json.loads(entries.read(path, _MOST_BYTES)) if path else []
    except (ValueError, RecursionError):
        return []
    listed = found[:_MOST_OF_EACH] if isinstance(found, list) else []
    return [_usable(one) for one in listed if isinstance(one, dict)]


def _usable(one: dict[str, Any]) -> dict[str, str | bool]:
    """Return only texts and flags for a form; half a surrogate pair becomes “?”."""
    texts = {name: value for name, value in one.items() if isinstance(value, str)}
    flags = {name: value for name, value in one.items() if isinstance(value, bool)}
    return {name: text.encode("utf-8", "replace").decode() for name, text in texts.items()} | flags


def _add_fields(fields: list[dict[str, Any]], by: uuid.UUID | None) -> list[str]:
    known = set(ReaderFieldDefinition.objects.values_list("key", flat=True))
    added = []
    for one in fields:
        form = FieldForm(
            {name: one.get(name, "") for name in ("key", "label", "fallback", "on_form")}
        )
        if one.get("key") not in known and form.is_valid():
            field = form.save(commit=False)
            if add_field(field, by):
                added.append(str(field.label))
    return added


def _add_tags(tags: list[dict[str, Any]], by: uuid.UUID | None) -> list[str]:
    known = {name.lower() for name in Tag.objects.values_list("name", flat=True)}
    added = []
    for one in tags:
        form = TagForm({name: one.get(name, "") for name in ("name", "is_topic", "description")})
        if str(one.get("name", "")).lower() not in known and form.is_valid() and form.is_saved():
            tag = form.instance
            known.add(tag.name.lower())
            if by is not None:
                record_saved("add", tag, by)
            added.append(tag.name)
    return added
