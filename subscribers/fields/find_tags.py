"""Find tags and topics, and prevent the deletion of tags that are being used.

Topics are the tags that readers see and choose themselves.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from django.db import connection

from delivery.control_characters import clean_name
from subscribers.models import Tag

_ADD = """
    INSERT INTO tag (name)
    SELECT name FROM unnest(%s::text[]) WITH ORDINALITY AS given (name, place)
     WHERE NOT EXISTS (SELECT FROM tag WHERE lower(tag.name) = lower(given.name))
     ORDER BY place
    ON CONFLICT (lower(name)) DO NOTHING
    RETURNING id
"""
_HOLD = """
    SELECT given, tag.id FROM unnest(%s::text[]) AS given JOIN tag ON lower(tag.name) = lower(given)
     ORDER BY tag.id FOR KEY SHARE OF tag
"""

TagName = tuple[int, str]  # a tag's id, and its current name


class UnknownTagError(LookupError):
    """The error if no tag has `name`. `meant` is the most similar name, if any."""

    def __init__(self, name: str, meant: str | None) -> None:
        super().__init__(name)
        self.name = name
        self.meant = meant


def find_tags(names: Iterable[str]) -> tuple[TagName, ...]:
    """Find tags by name, ignoring upper and lower case. Raises `UnknownTagError`."""
    # Compare the names in Python, because in some languages PostgreSQL lower-cases letters
    # differently.
    tags = {clean_name(tag.name).lower(): tag for tag in Tag.objects.all()}
    found = {}
    for name in names:
        key = clean_name(name).lower()
        if key not in tags:
            meant = next(iter(get_close_matches(key, tags, 1, 0.5)), None)
            raise UnknownTagError(name, tags[meant].name if meant else None)
        found[tags[key].pk] = tags[key].name
    return tuple(sorted(found.items()))


def find_or_add_tags(names: Iterable[str], made: set[int] | None = None) -> dict[str, int]:
    """Return a dict of the given names and the tags' ids, and add the missing tags.

    The tags cannot be deleted until the transaction ends. The ids of new tags are added to `made`.
    """
    # Lock the tags in the order of their names, so that two transactions cannot wait for each
    # other.
    wanted = sorted(set(names), key=str.lower)
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [wanted])
        added = {tag for (tag,) in cursor.fetchall()}
        if made is not None:
            made |= added
        cursor.execute(_HOLD, [wanted])
        return dict(cursor.fetchall())


def hold_tags(ids: Sequence[int]) -> bool:
    """Keep these tags until this transaction ends; return False if a tag is missing."""
    return len(lock_tags(ids)) == len(set(ids))


def load_topics() -> list[Tag]:
    """Load the topics by name."""
    return sorted(Tag.objects.filter(is_topic=True), key=lambda topic: topic.name.casefold())


def has_topics() -> bool:
    """Return whether there are topics that readers can choose."""
    return Tag.objects.filter(is_topic=True).exists()


def read_tag_ids(values: Iterable[str]) -> set[int]:
    """Read the ids of tags in a form or a URL, without values that are not ids."""
    return {int(value) for value in values if value.isdecimal() and len(value) < 10}


def lock_tags(tags: Iterable[int]) -> list[int]:
    """Lock tags so that they cannot be deleted; return the existing ids, sorted."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM tag WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", [[*tags]])
        return [tag for (tag,) in cursor]
