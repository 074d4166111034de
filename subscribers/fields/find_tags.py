"""Find tags by their names, and keep them from being deleted in the meantime."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from django.db import connection

from subscribers.models import Tag

TagName = tuple[int, str]  # the id, and the name now


class UnknownTagError(LookupError):
    """There is no tag with this name. `meant` is a similar one, if any."""

    def __init__(self, name: str, meant: str | None) -> None:
        super().__init__(name)
        self.name = name
        self.meant = meant


def find_tags(names: Iterable[str]) -> tuple[TagName, ...]:
    """Find each tag by its name, whatever its letter case. Raises `UnknownTagError`."""
    tags = {tag.name.lower(): tag for tag in Tag.objects.all()}
    found = {}
    for name in names:
        key = " ".join(name.split()).lower()
        if key not in tags:
            meant = next(iter(get_close_matches(key, tags, 1, 0.5)), None)
            raise UnknownTagError(name, tags[meant].name if meant else None)
        found[tags[key].pk] = tags[key].name
    return tuple(sorted(found.items()))


def hold_tags(ids: Sequence[int]) -> bool:
    """Keep these tags until the transaction ends; False if one is gone already."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM tag WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", [list(ids)]
        )
        return len(cursor.fetchall()) == len(set(ids))
