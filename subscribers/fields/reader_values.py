"""Validate the value of a reader's field, such as the name."""

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.reader_fields import ReaderField
from subscribers.refusal_sentences import InputRefusal, refuse


def read_value(field: ReaderField, text: str) -> str | InputRefusal:
    """Return the value with single spaces, or the reason for refusing it."""
    value = " ".join(text.split())
    if len(value) > field.longest:
        length, longest = len(value), field.longest
        return refuse("field_too_long", field=field.name, length=length, longest=longest)
    if CONTROL_CHARACTERS.search(value):
        return refuse("field_control_characters", field=field.name)
    return value
