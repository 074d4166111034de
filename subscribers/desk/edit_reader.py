"""Edit the fields and tags of one reader. The reader's own changes win."""

from collections.abc import Mapping, Sequence
from typing import Literal

from django.db import transaction

from subscribers.consent.consent_log import columns_of
from subscribers.fields.topics import lock_tags
from subscribers.models import Subscriber

EditResult = Literal["saved", "unchanged", "changed_meanwhile", "gone"]


def last_edit(reader: Subscriber) -> str:
    """Return the time of the last change, for a form; empty if there was none."""
    return reader.edited_at.isoformat() if reader.edited_at else ""


def edit_reader(
    subscriber_id: int,
    values: Mapping[str, str],
    tags: Sequence[int] | None = None,
    *,
    seen: str | None = None,
) -> EditResult:
    """Write these values, and replace the tags unless they are None.

    `seen` is the `last_edit` of the reader when the values were shown. If the reader was edited
    after that, nothing is written. A topic that the reader left is not added.
    """
    with transaction.atomic():
        readers = Subscriber.objects.filter(pk=subscriber_id)
        reader = readers.select_for_update().first()
        if reader is None:
            return "gone"
        if seen not in (None, last_edit(reader)):
            return "changed_meanwhile"
        chosen = reader.tags if tags is None else lock_tags({*tags} - {*reader.left_topics})
        columns = {**columns_of({**reader.values_of_fields, **values}), "tags": chosen}
        if all(getattr(reader, name) == value for name, value in columns.items()):
            return "unchanged"
        readers.update(**columns)
        return "saved"
