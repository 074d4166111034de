"""Publish within a site to readers with some tags or fields, and time it.

Run `python -m benchmarks.programs.publish_to_some JSON`. The JSON names `with_tags`,
`without_tags` (ids) and `html`. It prints the seconds of the publication and of the count of its
audience, and the number of copies.
"""

import json
import sys
import time
import uuid

from benchmarks.site.within_site import begin, print_result


def main() -> None:
    """Publish once, after an empty queue and a checkpoint."""
    begin()
    from django.contrib.auth import get_user_model
    from django.db import connection

    from publishing.content.edition_content import Content
    from publishing.editions.audience import TagChoice
    from publishing.publish.publish import publish
    from subscribers.confirmed_readers import confirmed

    asked = json.loads(sys.argv[1])
    chosen, excluded = asked["with_tags"], asked["without_tags"]
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE delivery, batch")
        cursor.execute("CHECKPOINT")
    counts_s = []
    for _ in range(3):
        began = time.perf_counter()
        count = confirmed(with_tags=chosen, without_tags=excluded).count()
        counts_s.append(time.perf_counter() - began)
    author = get_user_model().objects.get_or_create(username="edith", is_superuser=True)[0]
    tags = TagChoice(tuple((tag, "tag") for tag in chosen), tuple((tag, "tag") for tag in excluded))
    content = Content.from_input(title=f"Swifts {uuid.uuid4()}", html=asked["html"])
    began = time.perf_counter()
    edition = publish(author.pk, uuid.uuid4().hex, content, hold_s=0, tags=tags).edition
    took_s = time.perf_counter() - began
    if edition.audience != count:
        raise AssertionError(f"{count} readers were counted, and {edition.audience} got a copy")
    print_result({"publish_s": took_s, "count_s": sorted(counts_s)[1], "copies": count})


if __name__ == "__main__":
    main()
