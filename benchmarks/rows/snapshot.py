"""How much slower is a send while another session holds a snapshot open?

A backup or a long report keeps VACUUM from removing old row versions from tables and indexes. Here
a REPEATABLE READ transaction stays open from before publishing until after the last copy. The
open transaction has read the list of readers and written a row, so it has a transaction id. One
real `deliver` with defaults sends 300,000 copies of a 2 kB letter through a provider that answers
at once. Sends with and without the snapshot alternate on one site. The site's tables are vacuumed
before each send, and they keep the deliveries of earlier sends. The time runs from the first to the
last attempt that the database records, and the provider counts every copy. Noise from other
programs is larger than the effect of the snapshot, so there are twice as many rounds as elsewhere.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg

from benchmarks.frame import Measured, Options, RowResult, at_most, in_turns, percent
from benchmarks.sending import worker_rate
from benchmarks.site.site import Site, a_site

WITHOUT, WITH = "copies a second without", "copies a second under the snapshot"


def measure(options: Options) -> RowResult:
    """Measure the rate of one worker with and without the snapshot."""
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
        (at_most("at most 10 % slower", slower, 10),),
        (without, under),
        ("less than 0 % is faster",),
    )


def under_a_snapshot(site: Site, copies: int) -> float:
    """Send one issue to everyone under a snapshot; return copies a second."""
    with a_snapshot(site):
        return worker_rate(site, copies)


@contextmanager
def a_snapshot(site: Site) -> Iterator[None]:
    """During the block, keep a transaction open that has read and written."""
    with psycopg.connect(site.database) as other:
        other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        row = other.execute(
            "SELECT count(*), pg_current_xact_id()::text::bigint FROM subscriber"
        ).fetchone()
        assert row is not None
        yield
        # Check that the transaction still sees its old rows, which shows that VACUUM has not
        # removed them.
        held = other.execute(
            "SELECT backend_xmin::text::bigint, backend_xid::text::bigint FROM pg_stat_activity "
            "WHERE pid = pg_backend_pid()"
        ).fetchone()
        assert held is not None, "the transaction ended before the send"
        assert held[0] <= row[1] == held[1], held
        other.rollback()
