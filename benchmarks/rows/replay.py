"""How long does the replay of a form take, compared with an empty page?

A form of 2 kB is published once to a thousand readers. Then it is posted again with its key, 300
times per round, alternating with an empty page behind the sign-in. Both go through the site's own
WSGI application with all middleware, in one process, with one session and production settings. The
medians of each round are compared. Both include the queries for the session and the user. Only the
replay includes reading the form and checking its token.
Each answer must equal the first: same status, same Location. At the end there is one edition.
"""

import statistics

from benchmarks.frame import Measured, Options, RowResult, Target, ratio, run_alone
from benchmarks.programs.sign_in import sessions_of
from benchmarks.site.site import a_site
from benchmarks.site.within_site import within

READERS = 1_000
BOUND = 2.0


def measure(options: Options) -> RowResult:
    """Measure the medians of both, and their ratio."""
    times = options.size(300, 50)
    with a_site() as site:
        site.readers(READERS)
        (session,) = sessions_of(site, 1)
        rounds = within(
            site, "benchmarks.programs.post_again", session, str(times), str(options.rounds)
        )
    replay, empty = (
        Measured(name, "ms", tuple(statistics.median(took[side]) for took in rounds))
        for side, name in enumerate(("a form that was posted before", "an empty page with login"))
    )
    return RowResult(
        "replay of a form",
        (
            Target(
                "at most 2 × an empty view with login",
                ratio("replay : empty view", replay, empty),
                BOUND,
                at_most=True,
            ),
        ),
        (replay, empty),
        (f"medians of {times} requests a round, through WSGI in one process, without a socket",),
    )


if __name__ == "__main__":
    run_alone(measure)
