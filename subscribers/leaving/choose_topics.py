"""Save a reader's own choice of topics, and of the name in letters."""

from collections.abc import Collection
from typing import Any

from django.db import connection

# One statement changes the reader and adds the record of consent. So the record is right even if
# the reader saves in two windows at once. A topic counts as left only if the reader had it. The
# record of consent stores the current names of the topics.
CHOOSE = """
    WITH reader AS (
        SELECT id, name, tags, left_topics, tags_without_1(%(chosen)s, tags) AS joined,
               tags_without_1(tags, tags_without_1(tags, %(others)s)) AS abandoned
          FROM subscriber WHERE id = %(reader)s AND unsubscribed_at IS NULL FOR UPDATE
    ), changed AS (
        UPDATE subscriber
           SET tags = tags_with_1(tags_without_1(reader.tags, abandoned), '{}', joined),
               left_topics =
                   tags_with_1(tags_without_1(reader.left_topics, joined), '{}', abandoned),
               name = coalesce(%(name)s::text, reader.name)
          FROM reader
         WHERE subscriber.id = reader.id
           AND (joined <> '{}' OR abandoned <> '{}' OR %(name)s::text <> reader.name)
        RETURNING subscriber.id
    )
    INSERT INTO consent_record (subscriber_id, act, how, network, detail)
    SELECT reader.id, act, 'link', %(network)s,
           (SELECT string_agg(name, ', ' ORDER BY lower(name)) FROM tag WHERE id = ANY(topics))
      FROM reader JOIN changed ON changed.id = reader.id,
           LATERAL (VALUES ('left topics', abandoned),
                           ('chose topics', joined)) AS acts (act, topics)
     WHERE topics <> '{}'
"""


def choose_topics(
    reader: int,
    chosen: Collection[int],
    others: Collection[int],
    *,
    name: str | None = None,
    network: str = "",
) -> None:
    """Give a reader the `chosen` topics, remove the `others`, and record the change.

    Topics that are neither in `chosen` nor in `others` stay as they are. The old name stays if
    `name` is None. An unsubscribed reader stays unchanged.
    """
    choice: dict[str, Any] = {"chosen": [*chosen], "others": [*others], "name": name}
    with connection.cursor() as cursor:
        cursor.execute(CHOOSE, {"reader": reader, "network": network, **choice})
