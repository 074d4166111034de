"""How long does it take to count and publish to readers with tags or own fields?

A million confirmed readers have five of 50 tags each, five fields of their own, and one in 50 is
suppressed. Each round publishes to everyone, to the half that has any of some tags, and to everyone
with three fields in the letter. Each begins with an empty queue and after a checkpoint. The count
is the median of three for each publication.
"""

import json
from contextlib import closing
from typing import Any

from benchmarks.frame import Measured, Options, RowResult, Target, in_turns, ratio, run_alone
from benchmarks.letter import LETTER
from benchmarks.site.site import Site, a_site
from benchmarks.site.within_site import within

COUNT_BOUND_MS, TAGS_BOUND, FIELDS_BOUND = 300.0, 1.5, 1.3
EVERYONE, SOME, FIELDS = "to everyone", "to half of them, by tags", "to everyone, with three fields"
TAGS = 50
PREPARE = """
    INSERT INTO tag (name) SELECT 'Tag ' || number FROM generate_series(1, 50) AS number;
    INSERT INTO reader_field (key, label, fallback, position)
    SELECT 'field' || number, 'Field ' || number, 'something', number
    FROM generate_series(1, 5) AS number;
    UPDATE subscriber SET
        tags = ARRAY(SELECT DISTINCT 1 + (id * prime % 50)::integer AS tag
                     FROM unnest(ARRAY[3, 7, 11, 13, 17]) AS prime ORDER BY tag),
        fields = jsonb_build_object('field1', 'value ' || id % 1000, 'field2', 'x' || id % 7,
                                    'field3', 'Lisbon', 'field4', 'gold', 'field5', '1');
    INSERT INTO suppression (address_key, reason, origin)
    SELECT email_key, 'bounce', 'provider' FROM subscriber WHERE id % 50 = 0;
"""
WITH_FIELDS = "<p>{{ field1 }}, {{ field2|you }} and {{ field3 }}</p>"


def measure(options: Options) -> RowResult:
    """Measure counts and publications in turns."""
    readers = options.size(1_000_000, 20_000)
    with a_site() as site, closing(site.connect()) as database:
        site.readers(readers)
        for statement in filter(str.strip, PREPARE.split(";")):
            database.execute(statement)
        database.execute("VACUUM ANALYZE subscriber")
        database.execute("ANALYZE suppression")
        counts: list[float] = []
        everyone, some, fields = in_turns(
            options,
            {
                EVERYONE: lambda: _publish(site, LETTER),
                SOME: lambda: _publish(site, LETTER, [1, 2, 3, 4, 5, 6], [50], counts=counts),
                FIELDS: lambda: _publish(site, LETTER + WITH_FIELDS),
            },
            "s",
        )
    count = Measured("the count of an audience by tags", "ms", tuple(counts[-options.rounds :]))
    return RowResult(
        f"an audience of {readers:,} readers with {TAGS} tags",
        (
            Target("counted in at most 300 ms", count, COUNT_BOUND_MS, at_most=True),
            Target(
                "by tags: at most 1.5 × the time to everyone",
                ratio("by tags : to everyone", some, everyone),
                TAGS_BOUND,
                at_most=True,
            ),
            Target(
                "with three fields: at most 1.3 × the time without",
                ratio("with fields : without", fields, everyone),
                FIELDS_BOUND,
                at_most=True,
            ),
        ),
        (everyone, some, fields),
    )


def _publish(
    site: Site,
    html: str,
    with_tags: list[int] | None = None,
    without_tags: list[int] | None = None,
    *,
    counts: list[float] | None = None,
) -> float:
    asked = {"html": html, "with_tags": with_tags or [], "without_tags": without_tags or []}
    found: dict[str, Any] = within(site, "benchmarks.programs.publish_to_some", json.dumps(asked))
    if counts is not None:
        counts.append(1000 * found["count_s"])
    return float(found["publish_s"])


if __name__ == "__main__":
    run_alone(measure)
