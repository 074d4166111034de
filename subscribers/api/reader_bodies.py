"""Read the addresses, fields and tags of requests, and write readers as responses."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from django.db.models.functions import Lower

from api.problem import field_problem
from delivery.reader_fields import FIELD_NAMES, READER_FIELDS
from subscribers.address import read_address
from subscribers.api.reader_shapes import Reader, State
from subscribers.desk.reader_list import load_suppression_codes
from subscribers.desk.readers_csv import source_label
from subscribers.fields.find_tags import UnknownTagError, find_tags
from subscribers.fields.own_fields import load_own_fields
from subscribers.fields.reader_values import read_value
from subscribers.models import Subscriber, Tag
from subscribers.refusal_sentences import InputRefusal, refuse, sentence_of


def address_of(text: str) -> str:
    """Read an address, or raise `ProblemError`."""
    found = read_address(text)
    if isinstance(found, InputRefusal):
        raise field_problem("address", sentence_of(found))
    return found


def values_of(flat: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Read the given built-in fields and own fields, or raise `ProblemError`."""
    fields = {field.name: field for field in READER_FIELDS}
    own_fields = {field.name: field for field in load_own_fields()}
    values = {}
    for place, given, known in (("", flat, fields), ("fields.", own, own_fields)):
        for key, text in given.items():
            if key not in known:
                raise field_problem(f"{place}{key}", "There is no field with this key.")
            value = read_value(known[key], text)
            if isinstance(value, InputRefusal):
                raise field_problem(f"{place}{key}", sentence_of(value))
            values[key] = value
    return values


def tag_ids_of(names: Sequence[str], place: str = "tags", *, left: Sequence[int] = ()) -> list[int]:
    """Find tags by name; raise `ProblemError` if a tag is unknown or in `left`."""
    try:
        found = find_tags(names) if names else ()
    except UnknownTagError as error:
        raise field_problem(
            place, f"There is no tag “{error.name}”. Check the name, or add the tag first."
        ) from error
    for tag, name in found:
        if tag in left:
            raise field_problem(place, sentence_of(refuse("topic_left", tag=name)))
    return [tag for tag, _ in found]


def reader_responses(readers: Iterable[Subscriber]) -> list[Reader]:
    """Write readers as responses, with their tags in alphabetical order."""
    names = dict(Tag.objects.order_by(Lower("name")).values_list("id", "name"))
    readers = list(readers)
    codes = load_suppression_codes(readers)
    return [
        Reader(
            reader=reader.pk,
            address=reader.email,
            **{name: getattr(reader, name) for name in FIELD_NAMES},
            fields=reader.fields,
            tags=[name for tag, name in names.items() if tag in reader.tags],
            state=cast("State", reader.state),
            suppressed=codes.get(reader.pk, ""),
            since=reader.since,
            known_since=reader.created_at,
            came_by=source_label(reader),
        )
        for reader in readers
    ]
