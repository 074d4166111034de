"""How long does it take to publish without table statistics?

A database that was restored from a dump has no statistics. Two sites have the same readers and
suppressions. One site has table statistics and the other site never gets any. A form is posted to
each site in alternation, over HTTP to the deployed web server. The time runs from the first byte of
the form to the last byte of the answer. Before each post, the queue is emptied and a checkpoint
runs.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from benchmarks.frame import Options, RowResult, at_most, in_turns, ratio
from benchmarks.rows.publish import Press
from benchmarks.site.browser import OverHttp, sessions_of
from benchmarks.site.site import Site, a_site, a_web_server

NEVER, ANALYSED = "no table ever analysed", "all tables analysed"

# Suppress every 15th of 300,000 readers.
SUPPRESS = """
    INSERT INTO suppression (address_key, reason, origin)
    SELECT email_key, 'bounce', 'provider' FROM subscriber WHERE id % 15 = 0
"""
KNOWN = """
    SELECT count(*) FROM pg_class
    WHERE relname IN ('subscriber', 'suppression', 'delivery') AND reltuples >= 0
"""


def measure(options: Options) -> RowResult:
    """Measure how long each of the two sites takes to answer."""
    readers = options.size(300_000, 6_000)
    with (
        _press(readers, analyse=True) as (known, _),
        _press(readers, analyse=False) as (unknown, site),
    ):
        never, analysed = in_turns(options, {NEVER: unknown.publish, ANALYSED: known.publish}, "s")
        assert site.one(KNOWN) == 0, "a table was analysed meanwhile"
    return RowResult(
        f"publish to {readers:,} readers, {readers // 15:,} of them suppressed",
        (
            at_most(
                "never analysed: at most 3 × the analysed time",
                ratio("never analysed : analysed", never, analysed),
                3,
            ),
        ),
        (never, analysed),
    )


@contextmanager
def _press(readers: int, *, analyse: bool) -> Iterator[tuple[Press, Site]]:
    with a_site() as site, a_web_server(site) as address, closing(site.connect()) as database:
        database.execute("ALTER SYSTEM SET autovacuum = off")
        database.execute("SELECT pg_reload_conf()")
        site.readers(readers, analyse=analyse)
        database.execute(SUPPRESS)
        if analyse:
            database.execute("ANALYZE")
        browser = OverHttp(address, sessions_of(site, 1)[0])
        yield Press(database, browser, readers - readers // 15), site
