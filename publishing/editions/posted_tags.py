"""The tags of an audience in a form: ticked boxes, or one text such as “3,7”."""

from collections.abc import Collection, Iterable

from django.db.models.functions import Lower

from publishing.editions.audience import TagChoice
from subscribers.fields.topics import read_tag_ids
from subscribers.models import Tag

TAG_FIELDS = ("with_tags", "without_tags")


def join_ids(ids: Iterable[int]) -> str:
    """Return the text of these ids."""
    return ",".join(map(str, ids))


def read_ids(text: str) -> tuple[int, ...]:
    """Return the ids in a text, sorted."""
    return tuple(sorted(read_tag_ids(text.split(","))))


def tags_by_name() -> list[Tag]:
    """Return all tags, by name."""
    return list(Tag.objects.order_by(Lower("name")))


def choice_of(with_tags: Collection[int], without_tags: Collection[int]) -> TagChoice:
    """Return the choice of these tags with their names. Deleted tags have none."""
    ids = {*with_tags, *without_tags}
    names = dict(Tag.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}
    return TagChoice(
        *(tuple((tag, names.get(tag, "")) for tag in tags) for tags in (with_tags, without_tags))
    )
