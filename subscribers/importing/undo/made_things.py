"""The tags and fields that an import made, which its undo can delete."""

import uuid
from typing import NamedTuple

from django.db.models import Q, QuerySet

from delivery.models import Edition
from subscribers.field_and_tag_settings.change_fields_and_tags import (
    TagInUseError,
    delete_field,
    delete_tag,
    draft_uses,
)
from subscribers.models import ReaderFieldDefinition, Subscriber, SubscriberImport, Tag
from subscribers.models.subscriber_import import State

_OPEN = (State.CHECKING, State.CHECKED, State.WAITING, State.RUNNING)


class MadeThings(NamedTuple):
    """The names of tags and fields, by whether anything else uses them."""

    free: list[str]
    used: list[str]


def find_made(record: SubscriberImport) -> MadeThings:
    """Find what an undo could delete if it removed all readers of the import."""
    found = MadeThings([], [])
    others = Subscriber.objects.exclude(subscriber_import=record.pk)
    for tag in _tags(record):
        (found.used if _tag_is_used(tag, others) else found.free).append(tag.name)
    for field in _fields(record):
        (found.used if _field_is_used(field, others) else found.free).append(field.label)
    return found


def delete_made(record: SubscriberImport, by: uuid.UUID | None) -> MadeThings:
    """Delete what nothing uses, in the caller's transaction; return both parts."""
    found = MadeThings([], [])
    readers = Subscriber.objects.all()
    # The locks make changes of readers wait, so nobody gets a tag or field while it is deleted.
    for tag in _tags(record).select_for_update():
        is_deleted = False
        if not _tag_is_used(tag, readers):
            try:
                is_deleted = delete_tag(tag.pk, by)
            except TagInUseError:
                is_deleted = False
        (found.free if is_deleted else found.used).append(tag.name)
    for field in _fields(record).select_for_update():
        is_deleted = not _field_is_used(field, readers) and delete_field(field.key, by)
        (found.free if is_deleted else found.used).append(field.label)
    return found


def _tags(record: SubscriberImport) -> QuerySet[Tag]:
    return Tag.objects.filter(pk__in=record.made.get("tags", ())).order_by("pk")


def _fields(record: SubscriberImport) -> QuerySet[ReaderFieldDefinition]:
    made = record.made.get("fields", ())
    return ReaderFieldDefinition.objects.filter(pk__in=made).order_by("pk")


def _tag_is_used(tag: Tag, readers: QuerySet[Subscriber]) -> bool:
    """Whether a reader, letter or open import uses a tag, or readers can choose it."""
    with_tag = Q(tags__contains=[tag.pk]) | Q(left_topics__contains=[tag.pk])
    # Editions keep pairs of id and name; the name may have changed.
    editions = Edition.objects.exclude(with_tags=[], without_tags=[])
    pairs = editions.values_list("with_tags", "without_tags")
    return (
        tag.is_topic
        or draft_uses(tag=tag.pk)
        or any(tag.pk == number for both in pairs for some in both for number, _ in some)
        or SubscriberImport.objects.filter(state__in=_OPEN, tags__contains=[tag.pk]).exists()
        or readers.filter(with_tag).exists()
    )


def _field_is_used(field: ReaderFieldDefinition, readers: QuerySet[Subscriber]) -> bool:
    """Whether a reader, letter, open import or the sign-up form uses a field."""
    open_imports = SubscriberImport.objects.filter(state__in=_OPEN)
    mappings = open_imports.values_list("mapping", flat=True)
    return (
        field.on_form
        or draft_uses(field=field.key)
        or Edition.objects.filter(merge_fields__contains=[field.key]).exists()
        or any(to == field.key for mapping in mappings for _, to in mapping)
        or readers.filter(fields__has_key=field.key).exists()
    )
