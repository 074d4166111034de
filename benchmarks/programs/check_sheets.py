"""Run check sheets of one kind of letter within a site.

Run `python -m benchmarks.programs.check_sheets LETTERS`. LETTERS is a file with a JSON list of HTML
letters. Each is checked as the page does it, with its draft in the database. It prints the CPU
seconds of each.
"""

import json
import sys
import time
import uuid
from pathlib import Path

from benchmarks.site.within_site import begin, print_result


def main() -> None:
    """Check each letter once, after one uncounted check."""
    begin()
    from django.contrib.auth import get_user_model

    from publishing.models import Draft
    from publishing.preflight.check_draft import check

    author = get_user_model().objects.create_user(f"author-{uuid.uuid4()}", password=None)

    def seconds(letter: str) -> float:
        draft = Draft.objects.create(
            title="Swifts", letter=letter, format=Draft.Format.HTML, created_by=author
        )
        began = time.process_time()
        checked = check(draft, author.pk)
        took_s = time.process_time() - began
        assert checked.context.content.html, "an empty letter was checked"
        return took_s

    seconds("<p>Warming up.</p>")
    print_result([seconds(letter) for letter in json.loads(Path(sys.argv[1]).read_text())])


if __name__ == "__main__":
    main()
