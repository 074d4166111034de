"""
How much slower is a send while somebody holds a snapshot open throughout?

A backup or a long report keeps the database from tidying up: every version of a row that was
replaced since stays in the tables and in their indexes. Here a transaction at REPEATABLE READ that
has read the list, and written, so that it has a transaction id of its own, is open from before the
issue is published until after the last copy. One real `deliver` with its defaults sends 300,000
copies of a 2 kB letter over a provider that answers at once; with the snapshot and without it in
turns, on one site whose tables are vacuumed before each, the deliveries of the sends before still
in them. Timed by the database's record of the first and the last attempt, and every copy counted by
the provider. What a snapshot costs is less than what two sends of one kind differ by where other
programs run, so there are twice as many rounds as elsewhere.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg

from benchmarks.frame import Measured, Options, RowResult, Target, in_turns, percent, run_alone
from benchmarks.sending import worker_rate
from benchmarks.site.site import Site, a_site

BOUND_PERCENT = 10.0
WITHOUT, WITH = "copies a second without", "copies a second under the snapshot"


def measure(options: Options) -> RowResult:
    """The rate of one worker with the snapshot and without."""
    copies = options.size(300_000, 10_000)
    with a_site() as site:
        site.readers(copies)
        sides: dict[str, Callable[[], float]] = {
            WITHOUT: lambda: worker_rate(site, copies),
            WITH: lambda: under_a_snapshot(site, copies),
        }
        rounds = options.rounds if options.quick else 2 * options.rounds
        without, under = in_turns(replace(options, rounds=rounds), sides, "copies/s")
    share = percent("", under, without)
    slower = Measured("slower by", "%", tuple(100 - run for run in share.runs))
    return RowResult(
        f"under a snapshot held open, {copies:,} copies",
        (Target("at most 10 % slower", slower, BOUND_PERCENT, at_most=True),),
        (without, under),
        ("less than 0 % is faster",),
    )


def under_a_snapshot(site: Site, copies: int) -> float:
    """Copies a second of one worker that sends one issue to everyone meanwhile."""
    with a_snapshot(site):
        return worker_rate(site, copies)


@contextmanager
def a_snapshot(site: Site) -> Iterator[None]:
    """A transaction that has read and written, open as long as the block."""
    with psycopg.connect(site.database) as other:
        other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        row = other.execute(
            "SELECT count(*), pg_current_xact_id()::text::bigint FROM subscriber"
        ).fetchone()
        assert row is not None
        yield
        # It still sees what it saw: nothing was tidied up from under it.
        held = other.execute(
            "SELECT backend_xmin::text::bigint, backend_xid::text::bigint FROM pg_stat_activity "
            "WHERE pid = pg_backend_pid()"
        ).fetchone()
        assert held is not None, "the transaction ended before the send"
        assert held[0] <= row[1] == held[1], held
        other.rollback()


if __name__ == "__main__":
    run_alone(measure)
