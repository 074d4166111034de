"""Put tags on readers and take them off. A topic that a reader left stays off."""

from collections.abc import Sequence

from django.db import connection

from subscribers.fields.topics import lock_tags

# A separate statement in the order of ids, so that two changes never wait for each other.
_LOCK = "SELECT FROM subscriber WHERE id = ANY(%(readers)s) ORDER BY id FOR NO KEY UPDATE"
_NEW_TAGS = "tags_without_1(tags_with_1(tags, left_topics, %(added)s), %(removed)s)"
_CHANGE = """
    UPDATE subscriber SET tags = {new_tags}
     WHERE id = ANY(%(readers)s) AND tags <> {new_tags}
"""


def change_tags(
    readers: Sequence[int], *, added: Sequence[int] = (), removed: Sequence[int] = ()
) -> int:
    """Change the tags of these readers; return how many readers changed."""
    values = {"readers": [*readers], "added": lock_tags(added), "removed": [*removed]}
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, values)
        cursor.execute(_CHANGE.format(new_tags=_NEW_TAGS), values)
        return int(cursor.rowcount)
