"""
Does a transaction that holds a snapshot open, from before publishing to the end, slow sending down?

What is updated stays on the pages for as long as such a transaction may want to see it. Rounds with
and without one take turns, each in a database of its own, so that none inherits another's pages.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

import psycopg

from tests.soak.desk import LETTER, Desk
from tests.soak.finding import Finding, Wish, number, say
from tests.soak.ground import Ground, ground, manage
from tests.soak.providers import quick_provider

READERS = 100_000
READERS_QUICK = 4_000
# With and without take turns at being first.
PAIRS = 6
PAIRS_QUICK = 1
# Promised: at most a tenth slower.
SLOWER_BY_AT_MOST = 0.10


@dataclass(frozen=True, slots=True)
class Round:
    """Copies per second, and how many pages of the database were touched for each copy."""

    rate: float
    pages: float


def run(wish: Wish) -> Finding:
    """Measure in turns and compare the medians."""
    readers = max(wish.readers_or(READERS, READERS_QUICK), 1)
    pairs = PAIRS_QUICK if wish.quick else PAIRS
    finding = Finding(
        f"{number(readers)} deliveries a round with and without a snapshot held open from before "
        f"publishing to the end, {pairs} rounds of each in turns, one worker"
    )
    without: list[Round] = []
    under: list[Round] = []
    with ground() as stage, stage.database("readers") as url, quick_provider() as provider:
        with closing(Desk(url)) as desk:
            desk.confirm(readers)
        _round(stage, provider, readers, held=False)  # Warms the machine up; not counted.
        for pair in range(pairs):
            for held in (False, True) if pair % 2 == 0 else (True, False):
                one = _round(stage, provider, readers, held=held)
                (under if held else without).append(one)
                say(f"{'under a snapshot' if held else 'without one'}: {number(one.rate)}/s")
    slower = 1 - _rates(under)[1] / _rates(without)[1]
    finding.figures += [
        "without {1:,.0f}/s ({0:,.0f} to {2:,.0f})".format(*_rates(without)),
        "with {1:,.0f}/s ({0:,.0f} to {2:,.0f})".format(*_rates(under)),
        f"{abs(slower):.1%} {'slower' if slower > 0 else 'faster'} in the median",
        f"{_pages(under) / _pages(without) - 1:+.1%} pages touched",
    ]
    if not wish.quick:
        finding.expect(
            slower <= SLOWER_BY_AT_MOST,
            f"{slower:.1%} slower, promised at most {SLOWER_BY_AT_MOST:.0%}",
        )
    return finding


def _rates(rounds: Sequence[Round]) -> tuple[float, float, float]:
    """The slowest, the median and the fastest."""
    rates = [one.rate for one in rounds]
    return min(rates), statistics.median(rates), max(rates)


def _pages(rounds: Sequence[Round]) -> float:
    """Pages touched for each copy, in the median."""
    return statistics.median(one.pages for one in rounds)


def _round(stage: Ground, provider: str, readers: int, *, held: bool) -> Round:
    """One worker sends everything; timed between the start and the end of its calls."""
    with stage.database("round", like="readers") as url, closing(Desk(url)) as desk:
        with snapshot_held(url) if held else closing(Desk(url)):
            desk.publish(html=LETTER)
            before = _pages_touched(desk)
            manage(url, "deliver", "--until-empty", POSTMARK_BASE_URL=provider)
            pages = _pages_touched(desk) - before
        (sent, seconds) = desk.ask(
            "SELECT sum(accepted), extract(epoch FROM max(finished_at) - min(started_at))::float8 "
            "FROM attempt"
        )
        assert sent == readers, (sent, readers)
        return Round(readers / float(seconds), pages / readers)


def _pages_touched(desk: Desk) -> int:
    """How many pages this database has looked at so far, from memory or not."""
    desk.ask("SELECT pg_stat_clear_snapshot()")
    query = "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()"
    return int(desk.ask(query)[0])


@contextmanager
def snapshot_held(url: str) -> Iterator[None]:
    """A transaction with a snapshot and a number of its own, open for the length of a block."""
    with psycopg.connect(url) as session:
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        session.execute("SELECT pg_current_xact_id(), count(*) FROM batch")
        yield
        session.rollback()
