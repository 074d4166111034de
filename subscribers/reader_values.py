"""Whether a text may be the value of a reader's field, such as the name."""

from collections.abc import Mapping

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.reader_fields import READER_FIELDS, ReaderField
from subscribers.refusal import InputRefusal, refuse

NO_VALUES = {field.name: "" for field in READER_FIELDS}


def read_value(field: ReaderField, text: str) -> str | InputRefusal:
    """The value that `text` holds, its white space as single blanks, or why it cannot be kept."""
    value = " ".join(text.split())
    if len(value) > field.longest:
        length, longest = len(value), field.longest
        return refuse("field_too_long", field=field.label.lower(), length=length, longest=longest)
    if CONTROL_CHARACTERS.search(value):
        return refuse("field_control_characters", field=field.label.lower())
    return value


def read_values(typed: Mapping[str, str]) -> tuple[dict[str, str], dict[str, InputRefusal]]:
    """The values of all fields, and the refusals of those that cannot be kept, both by name."""
    values: dict[str, str] = {}
    refusals: dict[str, InputRefusal] = {}
    for field in READER_FIELDS:
        value = read_value(field, typed.get(field.name, ""))
        if isinstance(value, InputRefusal):
            refusals[field.name] = value
        else:
            values[field.name] = value
    return values, refusals
