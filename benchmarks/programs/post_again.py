"""Post one form repeatedly, alternating with an empty page, within a site.

Run `python -m benchmarks.programs.post_again SESSION TIMES ROUNDS`. Both go to the site's own WSGI
application in this process, with one session. It prints the milliseconds of each, round by round.
"""

import sys
from collections.abc import Callable

from benchmarks.letter import LETTER
from benchmarks.programs.browser import InProcess, Page, posted
from benchmarks.site.within_site import begin, print_result

DESK = "/admin/newsletters/"
FORM = {
    "idempotency_key": "posted-again-and-again",
    "title": "Swifts",
    "preheader": "",
    "html_content": LETTER,
    "text_content": "",
}
WARMING_UP = 30


def main() -> None:
    """Publish once, then measure repeated posts of the same form."""
    session, times, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    begin()
    from django.conf import settings

    from benchmarks.programs import empty_view

    settings.ROOT_URLCONF = empty_view.__name__
    from delivery.models import Edition
    from newsletter_site.wsgi import application

    browser, body = InProcess(application, session), posted(FORM)
    first = browser.post(DESK, body)
    assert first.status == 303, first

    def replay() -> Page:
        page = browser.post(DESK, body)
        assert (page.status, page.headers["Location"]) == (303, first.headers["Location"]), page
        return page

    def empty() -> Page:
        page = browser.get(empty_view.PATH)
        assert page.status == 200, page
        return page

    in_turns(replay, empty, WARMING_UP)
    found = [in_turns(replay, empty, times) for _ in range(rounds)]
    assert Edition.objects.filter(idempotency_key=FORM["idempotency_key"]).count() == 1
    print_result(found)


def in_turns(
    one: Callable[[], Page], other: Callable[[], Page], times: int
) -> tuple[list[float], list[float]]:
    """Return the milliseconds of each, in alternating order."""
    took: tuple[list[float], list[float]] = ([], [])
    for number in range(times):
        for side in (0, 1) if number % 2 else (1, 0):
            took[side].append(1000 * (one, other)[side]().took_s)
    return took


if __name__ == "__main__":
    main()
