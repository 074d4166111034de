"""Topics: the tags that readers see and choose themselves."""

from collections.abc import Iterable

from django.db import connection

from subscribers.models import Tag


def load_topics() -> list[Tag]:
    """Load the topics by name."""
    return sorted(Tag.objects.filter(is_topic=True), key=lambda topic: topic.name.casefold())


def has_topics() -> bool:
    """Whether readers can choose topics."""
    return Tag.objects.filter(is_topic=True).exists()


def read_tag_ids(values: Iterable[str]) -> set[int]:
    """Read the ids of tags in a form or a URL. Other values are ignored."""
    return {int(value) for value in values if value.isdecimal() and len(value) < 10}


def lock_tags(tags: Iterable[int]) -> list[int]:
    """Lock tags against their deletion; return those that exist, sorted."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM tag WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", [[*tags]])
        return [tag for (tag,) in cursor]
