"""
What is the answer to a form that was posted before, beside a page that does nothing?

A form of 2 kB is published once to a thousand readers. Then it is posted again with its key, three
hundred times in each round and in turns with a page that wants somebody signed in and is empty.
Both go through the site's own WSGI application with all of its middleware, in one process, with one
session and the settings of a site that is run for real. The medians of each round are compared. So
what any page takes, the session and the question who it is, is in both; what a form takes beyond
that, reading it and looking at its token, is the replay's alone.

Each answer is compared with the first: the same status, leading to the same place. At the end there
is one edition.
"""

import statistics

from benchmarks.frame import Measured, Options, RowResult, Target, ratio, run_alone
from benchmarks.programs.sign_in import sessions_of
from benchmarks.site.site import a_site
from benchmarks.site.within_site import within

READERS = 1_000
BOUND = 2.0


def measure(options: Options) -> RowResult:
    """Medians of both, and how many times the one is the other."""
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
