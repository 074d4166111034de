"""The fields of a reader: the name, and the fields that the author has defined."""

from collections.abc import Collection

from django.db import connection

from delivery.mail.merge_fields import BODY_FIELDS
from delivery.reader_fields import FIELD_NAMES, READER_FIELDS, ReaderField
from subscribers.models import ReaderFieldDefinition

# These words cannot be the key of an author's own field. Each word means something else in a letter
# or as a column of an import, or would confuse authors. Messages, forms and exports write such a
# key with a prefix, so they need no reserved words.
RESERVED_KEYS = frozenset(
    [
        *(*BODY_FIELDS, "link", "newsletter"),
        *("status", "state", "tags", "topics", "fields", "id", "source", "since", "add"),
        *("left_topics", "consent", "new", "suppressed"),
        *("how", "shown", "reply", "main", "joinh", "latest", "held", "attention", "failed"),
    ]
)


def load_own_fields(**only: bool) -> tuple[ReaderField, ...]:
    """Load the author's fields in order; `on_form=True` selects those on the form."""
    return tuple(
        ReaderField(
            name=field.key,
            label=field.label,
            example=field.label,
            fallback=field.fallback,
            autocomplete="off",
            headers=f"{field.key}, fields.{field.key}, {field.label}",
            is_own=True,
        )
        for field in ReaderFieldDefinition.objects.filter(**only).order_by("position")
    )


def load_fields() -> tuple[ReaderField, ...]:
    """Load all fields of a reader: the name first, then the author's own."""
    return (*READER_FIELDS, *load_own_fields())


def load_fields_by_key(keys: Collection[str]) -> tuple[ReaderField, ...]:
    """Load the name, then the author's own fields with these keys, sorted by key.

    `keys` may contain the key of a deleted field.
    """
    own = {field.name: field for field in load_own_fields()}
    wanted = sorted(set(keys) - set(FIELD_NAMES))
    return (*READER_FIELDS, *(own.get(key) or _deleted(key) for key in wanted))


def hold_fields(keys: Collection[str]) -> set[str]:
    """Keep these fields from being deleted until this transaction ends.

    Return the keys of the fields that exist.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT key FROM reader_field WHERE key = ANY(%s) ORDER BY key FOR KEY SHARE", [[*keys]]
        )
        return {key for (key,) in cursor.fetchall()}


def _deleted(key: str) -> ReaderField:
    return ReaderField(key, key, example=key, fallback="", autocomplete="off", is_own=True)
