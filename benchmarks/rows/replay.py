"""How long does the replay of a form take, compared with an empty page?

A form of 2 kB is published once to a thousand readers. Then the form is posted again with its key,
300 times per round, alternating with requests of an empty page behind the sign-in. Both kinds of
requests go through the site's own WSGI application with all middleware, in one process, with one
session and production settings. The medians of each round are compared. Both medians include the
queries for the session and the user. Only the replay includes reading the form and checking its
token. Each answer must have the same status and Location as the first one. At the end the database
must contain only one edition.
"""

import statistics
from collections.abc import Callable

from benchmarks.frame import Measured, Options, RowResult, at_most, ratio
from benchmarks.site.browser import DESK, ISSUE, InProcess, Page, posted, sessions_of
from benchmarks.site.site import a_site
from benchmarks.site.within_site import begin, within

READERS, WARMING_UP = 1_000, 30
KEY = "posted-again-and-again"


def measure(options: Options) -> RowResult:
    """Measure the medians of the replay and of the empty page, and their ratio."""
    times = options.size(300, 50)
    with a_site() as site:
        site.readers(READERS)
        (session,) = sessions_of(site, 1)
        rounds = within(site, post_again, session, times, options.rounds)
    replay, empty = (
        Measured(name, "ms", tuple(statistics.median(took[side]) for took in rounds))
        for side, name in enumerate(("a form that was posted before", "an empty page with login"))
    )
    return RowResult(
        "replay of a form",
        (
            at_most(
                "at most 2 × an empty view with login",
                ratio("replay : empty view", replay, empty),
                2,
            ),
        ),
        (replay, empty),
        (f"medians of {times} requests a round, through WSGI in one process, without a socket",),
    )


Times = tuple[list[float], list[float]]


def post_again(session: str, times: int, rounds: int) -> list[Times]:
    """Publish once; return the milliseconds of repeated posts and of an empty page."""
    begin()
    from django.contrib.auth.decorators import login_required
    from django.http import HttpResponse
    from django.urls import path

    from delivery.models import Edition
    from newsletter_site import urls
    from newsletter_site.wsgi import application

    urls.urlpatterns.insert(0, path("empty/", login_required(lambda _request: HttpResponse())))
    browser, body = InProcess(application, session), posted(ISSUE | {"idempotency_key": KEY})
    first = browser.post(DESK, body)
    assert first.status == 303, first

    def replay() -> Page:
        page = browser.post(DESK, body)
        assert (page.status, page.headers["Location"]) == (303, first.headers["Location"]), page
        return page

    def empty() -> Page:
        page = browser.get("/empty/")
        assert page.status == 200, page
        return page

    alternate(replay, empty, WARMING_UP)
    found = [alternate(replay, empty, times) for _ in range(rounds)]
    assert Edition.objects.filter(idempotency_key=KEY).count() == 1
    return found


def alternate(one: Callable[[], Page], other: Callable[[], Page], times: int) -> Times:
    """Open the two pages alternately; return the milliseconds of each."""
    took: Times = ([], [])
    for number in range(times):
        for side in (0, 1) if number % 2 else (1, 0):
            took[side].append(1000 * (one, other)[side]().took_s)
    return took
