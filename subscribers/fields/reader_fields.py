"""The fields of a reader: the name, and the fields that the author has defined."""

from delivery.reader_fields import READER_FIELDS, ReaderField
from subscribers.models import ReaderFieldDefinition

# Words that mean something else in a letter, a file, the API or a page with the sign-up form.
RESERVED_KEYS = frozenset(
    [
        *("name", "email", "status", "state", "tags", "topics", "fields", "id", "source", "since"),
        *("link", "newsletter", "unsubscribe_url", "archive_url", "preferences_url", "add"),
        *("how", "shown", "reply", "main", "joinh", "latest", "held", "attention", "failed"),
    ]
)


def load_own_fields(**only: bool) -> tuple[ReaderField, ...]:
    """Load the author's fields in their order, or those with `on_form=True`."""
    return tuple(
        ReaderField(
            name=field.key,
            label=field.label,
            example=field.label,
            fallback=field.fallback,
            autocomplete="off",
            headers=f"{field.key}, {field.label}",
        )
        for field in ReaderFieldDefinition.objects.filter(**only).order_by("position")
    )


def load_fields() -> tuple[ReaderField, ...]:
    """Load all fields of a reader: the name first, then the author's own."""
    return (*READER_FIELDS, *load_own_fields())
