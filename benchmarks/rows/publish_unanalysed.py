"""How long does it take to publish without table statistics?

A restored dump has none. Two sites have the same readers and suppressions. One has
statistics and the other never gets any. A form is posted to each site in alternation, over HTTP to
the deployed web server. The time runs from the first byte of the form to the last byte of the
answer. Both begin with an empty queue and after a checkpoint.
"""

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from benchmarks.frame import Options, RowResult, Target, in_turns, ratio, run_alone
from benchmarks.programs.browser import OverHttp
from benchmarks.programs.post_again import DESK, FORM
from benchmarks.programs.sign_in import sessions_of
from benchmarks.site.site import a_site
from benchmarks.site.web_server import a_web_server

BOUND = 3.0
NEVER, ANALYSED = "no table ever analysed", "all tables analysed"

# Every 15th of 300,000 readers.
SUPPRESS = """
    INSERT INTO suppression (address_key, reason, origin)
    SELECT email_key, 'bounce', 'provider' FROM subscriber WHERE id % 15 = 0
"""
KNOWN = """
    SELECT count(*) FROM pg_class
    WHERE relname IN ('subscriber', 'suppression', 'delivery') AND reltuples >= 0
"""


def measure(options: Options) -> RowResult:
    """Measure the answers of both sites."""
    readers = options.size(300_000, 6_000)
    with _press(readers, analyse=True) as known, _press(readers, analyse=False) as unknown:
        never, analysed = in_turns(options, {NEVER: unknown.publish, ANALYSED: known.publish}, "s")
        assert unknown.one(KNOWN) == 0, "a table was analysed meanwhile"
    return RowResult(
        f"publish to {readers:,} readers, {readers // 15:,} of them suppressed",
        (
            Target(
                "never analysed: at most 3 × the analysed time",
                ratio("never analysed : analysed", never, analysed),
                BOUND,
                at_most=True,
            ),
        ),
        (never, analysed),
    )


@dataclass(frozen=True, slots=True)
class _Press:
    """Publisher on one site."""

    database: psycopg.Connection[Any]
    browser: OverHttp
    audience: int

    def publish(self) -> float:
        """Publish to everyone; return the seconds of the answer."""
        self.database.execute("TRUNCATE delivery, batch")
        self.database.execute("CHECKPOINT")
        page = self.browser.post(DESK, FORM | {"idempotency_key": str(uuid.uuid4())})
        assert page.status == 303, page
        assert self.one("SELECT count(*) FROM delivery") == self.audience
        return page.took_s

    def one(self, sql: str) -> Any:
        """Return the single value of a statement."""
        row = self.database.execute(sql).fetchone()
        assert row is not None
        return row[0]


@contextmanager
def _press(readers: int, *, analyse: bool) -> Iterator[_Press]:
    with a_site() as site, a_web_server(site) as server, closing(site.connect()) as database:
        database.execute("ALTER SYSTEM SET autovacuum = off")
        database.execute("SELECT pg_reload_conf()")
        site.readers(readers, analyse=analyse)
        database.execute(SUPPRESS)
        if analyse:
            database.execute("ANALYZE")
        browser = OverHttp(server.address, sessions_of(site, 1)[0])
        yield _Press(database, browser, readers - readers // 15)


if __name__ == "__main__":
    run_alone(measure)
