"""Write readers as a CSV file, for the desk and the command line."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from delivery.reader_fields import FIELD_NAMES, own_columns
from subscribers.desk.reader_list import rows_by_id
from subscribers.fields.own_fields import load_own_fields
from subscribers.files.safe_csv import csv_line
from subscribers.importing.file_format.recognise_columns import with_other_meaning
from subscribers.models import Subscriber, Suppression, Tag
from subscribers.suppression_sentences import code_of

HEADER = ("email", *FIELD_NAMES, "state", "suppressed", "since", "signed_up", "confirmed")
HEADER += ("unsubscribed", "came_by", "tags")


def csv_lines(readers: Iterable[Any]) -> Iterator[str]:
    """Yield a header, then a line for each reader, with times in UTC and tags as JSON."""
    keys = [field.name for field in load_own_fields()]
    names = dict(Tag.objects.values_list("id", "name"))
    yield csv_line(*HEADER, *own_columns(keys, {*HEADER, *with_other_meaning(keys)}))
    for reader in readers:
        yield csv_line(
            reader.email,
            *(getattr(reader, name) for name in FIELD_NAMES),
            reader.state,
            code_of(reader.suppressed),
            reader.since,
            reader.created_at,
            reader.confirmed_at,
            reader.unsubscribed_at,
            source_label(reader),
            tags_as_json(reader.tags, names),
            *(reader.fields.get(key, "") for key in keys),
        )


def suppression_lines(*, lifted: bool = False) -> Iterator[str]:
    """Yield a line for each suppressed address, of a reader or of somebody else."""
    yield csv_line("email", "reason", "origin", "since", "lifted")
    for one in rows_by_id(Suppression.objects.filter(lifted_at__isnull=not lifted)):
        yield csv_line(one.address_key, one.reason, one.origin, one.at, one.lifted_at)


def tags_as_json(tags: Iterable[int], names: Mapping[int, str]) -> str:
    """Return names of tags as a JSON array, because a name may contain any separator."""
    return json.dumps([names[tag] for tag in tags if tag in names], ensure_ascii=False)


def source_label(reader: Subscriber) -> str:
    """Return a reader's source for files and programs: a code, or an import's file."""
    if reader.subscriber_import:
        return f"import {reader.subscriber_import.filename}"
    return "API" if reader.source == Subscriber.Source.API else reader.source
