"""The fields of a reader: the name, and the fields that the author has defined."""

from delivery.reader_fields import READER_FIELDS, ReaderField
from subscribers.models import ReaderFieldDefinition

# Words that mean something else in a letter, a file or the API.
RESERVED_KEYS = frozenset(
    [
        *("name", "email", "status", "state", "tags", "topics", "fields", "id", "source", "since"),
        *("link", "newsletter", "unsubscribe_url", "archive_url", "preferences_url"),
    ]
)


def load_own_fields() -> tuple[ReaderField, ...]:
    """Load the fields that the author has defined, in their order."""
    return tuple(
        ReaderField(
            name=field.key,
            label=field.label,
            example=field.label,
            fallback=field.fallback,
            autocomplete="off",
            headers=f"{field.key}, {field.label}",
        )
        for field in ReaderFieldDefinition.objects.order_by("position")
    )


def load_fields() -> tuple[ReaderField, ...]:
    """Load all fields of a reader: the name first, then the author's own."""
    return (*READER_FIELDS, *load_own_fields())
