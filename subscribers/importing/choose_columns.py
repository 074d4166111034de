"""The columns of a checked file, which an author can map on the page."""

import uuid
from collections.abc import Mapping as Map
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from delivery.control_characters import clean_name
from subscribers.field_and_tag_settings.change_fields_and_tags import add_field, can_add_field
from subscribers.field_and_tag_settings.field_and_tag_forms import FieldForm
from subscribers.fields.own_fields import load_fields
from subscribers.importing import import_sentences as sentences
from subscribers.importing.accept_upload import discard, spooled_import, store_for_check
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.read_file import Description, ReaderFile
from subscribers.importing.file_format.recognise_columns import (
    EMAIL,
    IGNORED,
    OTHERS,
    STATUS,
    Mapping,
    read_column_number,
    read_target,
)
from subscribers.importing.file_format.yes_or_no import COMPLIMENTARY, PAID, TAG
from subscribers.importing.import_sentences import OTHER_COLUMNS, second_sentence
from subscribers.importing.rejects_file import reading_of
from subscribers.models import SubscriberImport
from subscribers.record_activity import record_import_activity

NEW_FIELD = "new"


class ColumnChoice(NamedTuple):
    """A column of a file, numbered from 1, and the uses that the page offers for it."""

    number: int
    name: str
    samples: Sequence[str]
    options: Sequence[tuple[str, str, bool]]  # each option's value, label, and whether it is chosen
    offer: str = ""  # a sentence that offers to read the column as a tag
    notes: Sequence[str] = ()

    @property
    def is_open(self) -> bool:
        """Return whether the page shows this column above the list of ignored columns."""
        is_read = any(value and is_chosen for value, _, is_chosen in self.options)
        return is_read or bool(self.notes or self.offer)


class ColumnError(Exception):
    """The error for chosen columns that cannot be used; `str()` says why."""


def column_choices(record: SubscriberImport, chosen: Map[str, str]) -> list[ColumnChoice]:
    """Return a file's columns; `chosen` maps controls of the form to posted values."""
    described = Description.from_json(record.read_as)
    labels = {
        "": _("Nothing; ignore it"),
        EMAIL: _("Email address"),
        **{field.name: str(field.label) for field in load_fields()},
        STATUS: _("Status"),
        **{name: str(label) for name, label in OTHER_COLUMNS.items()},
    }
    if can_add_field():
        labels[NEW_FIELD] = _("A new field, added to Settings")
    return [
        ColumnChoice(
            number,
            name or _("column {n}").format(n=number),
            samples,
            [
                (value, label, value == chosen.get(f"column-{number}", read_as))
                for value, label in {**labels, **_tag_labels(name, read_as)}.items()
            ],
            sentences.offer_sentence(tag, record.tag_values.get(tag, {}))
            if (tag := described.offers.get(str(number)))
            else "",
            [
                second_sentence(second, described)
                for second in described.seconds
                if second["number"] == number
            ],
        )
        for number, (name, read_as, samples) in enumerate(described.columns, 1)
    ]


def _tag_labels(name: str, read_as: str) -> dict[str, str]:
    """Return options that read a column as a tag: known tags, and the column's name."""
    tags = [PAID, COMPLIMENTARY, clean_name(name)]
    values = [*(value for tag in tags if (value := read_target(f"{TAG}{tag}", ()))), read_as]
    label = _("Tag “{tag}”, where it says yes")
    return {
        value: label.format(tag=value.removeprefix(TAG))
        for value in values
        if value.startswith(TAG)
    }


def check_again(
    record: SubscriberImport, posted: Map[str, str], by: Any
) -> tuple[SubscriberImport, bool] | None:
    """Check a file again with other uses of its columns, and discard the old check.

    Return the import of the new check, and whether this import is new: an earlier import may have
    read the file in the same way. Return None if each column keeps its use. If `ColumnError` or
    `UnreadableFileError` is raised, nothing has changed.
    """
    with transaction.atomic():
        # If the form is posted twice, the second request waits here until the first has ended.
        checked = SubscriberImport.objects.select_for_update().filter(pk=record.pk)
        if not checked.filter(state=SubscriberImport.State.CHECKED).exists():
            sentence = _("The file was imported or deleted before. Nothing was changed.")
            raise ColumnError(sentence)
        described = Description.from_json(record.read_as)
        made = list[str](record.made.get("fields", ()))
        mapping = _mapping_of(record, described.columns, posted, by.pk, made)
        if mapping is None:
            return None
        with (
            spooled_import(record.pk) as file,
            ReaderFile(
                file, record.filename, mapping, load_fields(), lambda *_: reading_of(record)
            ) as readers,
        ):
            again, is_new = store_for_check(readers, file, record.filename, by, described.posts)
            SubscriberImport.objects.filter(pk=again.pk).update(
                upload=record.upload, made={"fields": made} if made else {}
            )
        if again.pk == record.pk:
            return None
        discard(record.pk)
        if is_new:
            record_import_activity("upload", by.pk, again)
        return again, is_new


def _mapping_of(
    record: SubscriberImport,
    columns: Sequence[tuple[str, str, Sequence[str]]],
    posted: Map[str, str],
    by: uuid.UUID,
    made: list[str],
) -> Mapping | None:
    """Return the mapping with the changed columns; None if no column was changed.

    The keys of new fields are added to `made`.
    """
    known = {"", EMAIL, STATUS, *OTHERS, NEW_FIELD, *(field.name for field in load_fields())}
    mapping: dict[str, str] = dict(record.mapping)
    targets, changed_to = [], set()
    for number, (name, read_as, _samples) in enumerate(columns, 1):
        to = posted.get(f"column-{number}", read_as)
        if to not in known and not (to.startswith(TAG) and read_target(to, ())):
            raise ColumnError(
                _("Column “{name}” has an unknown choice. Choose one from its list.").format(
                    name=name
                )
            )
        targets.append(to)
        if to == read_as:
            continue
        changed_to.add(to)
        mapping = {
            column: earlier
            for column, earlier in mapping.items()
            if column != name and read_column_number(column) != number
        }
        if to == NEW_FIELD:
            to = _new_field(name or _("column {n}").format(n=number), by)
            made.append(to)
        mapping[f"column {number}"] = to or IGNORED
    if targets.count(EMAIL) != 1:
        raise UnreadableFileError("map_two_addresses" if EMAIL in targets else "map_no_address")
    if not changed_to:
        return None
    # If the author chose a use that another column already has, join the two columns. The author
    # expects joined columns, because the page shows the uses of all columns.
    for number, (_name, read_as, _samples) in enumerate(columns, 1):
        if read_as == targets[number - 1] and read_as in changed_to and read_as:
            mapping.setdefault(f"column {number}", read_as)
    return tuple(sorted(mapping.items(), key=lambda pair: pair[1]))


def _new_field(label: str, by: uuid.UUID) -> str:
    form = FieldForm({"label": label, "key": "", "fallback": ""})
    if not form.is_valid():
        sentence = " ".join(str(error) for errors in form.errors.values() for error in errors)
        raise ColumnError(f"{label}: {sentence}")
    field = form.save(commit=False)
    if not add_field(field, by):
        raise ColumnError(_("There are as many fields as allowed. Choose another field."))
    return str(field.key)
