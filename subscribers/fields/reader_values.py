"""Validate the value of a reader's field, such as the name."""

from delivery.control_characters import CONTROL_CHARACTERS, clean_name
from delivery.reader_fields import ReaderField
from subscribers.refusal_sentences import InputRefusal, refuse

LONGEST_SHOWN = 1000  # a form shows only this number of characters of a refused text


def shown_again(typed: str) -> str:
    """Shorten a refused text for its form, and replace control characters by signs.

    Control characters are replaced because HTML forbids them, and because a visitor could not see
    and remove them.
    """
    return CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", clean_name(typed[:LONGEST_SHOWN]))


def read_value(field: ReaderField, text: str) -> str | InputRefusal:
    """Return the value on one line, or the reason for refusing it."""
    value = clean_name(text)
    # For a built-in field, store the field's name, which is translated when the sentence is shown.
    shown = str(field.label) if field.is_own else field.name
    if len(value) > field.longest:
        length, longest = len(value), field.longest
        return refuse("field_too_long", field=shown, length=length, longest=longest)
    if CONTROL_CHARACTERS.search(value):
        return refuse("field_control_characters", field=shown)
    return value
