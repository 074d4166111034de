"""
Does a transaction that holds a snapshot open, from before publishing to the end, slow sending down?

What is updated stays on the pages for as long as such a transaction may want to see it. Rounds with
and without one take turns, each in a database of its own, so that none inherits another's pages.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import closing, contextmanager

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


def run(wish: Wish) -> Finding:
    """Measure in turns and compare the medians."""
    readers = max(wish.readers_or(READERS, READERS_QUICK), 1)
    pairs = PAIRS_QUICK if wish.quick else PAIRS
    finding = Finding(
        f"{number(readers)} deliveries a round with and without a snapshot held open from before "
        f"publishing to the end, {pairs} rounds of each in turns, one worker"
    )
    without: list[float] = []
    under: list[float] = []
    with ground() as stage, stage.database("readers") as url, quick_provider() as provider:
        with closing(Desk(url)) as desk:
            desk.confirm(readers)
        _round(stage, provider, readers, held=False)  # Warms the machine up; not counted.
        for pair in range(pairs):
            for held in (False, True) if pair % 2 == 0 else (True, False):
                rate = _round(stage, provider, readers, held=held)
                (under if held else without).append(rate)
                say(f"{'under a snapshot' if held else 'without one'}: {number(rate)}/s")
    usual, slowed = statistics.median(without), statistics.median(under)
    slower = 1 - slowed / usual
    finding.figures += [
        f"without {number(usual)}/s ({number(min(without))} to {number(max(without))})",
        f"with {number(slowed)}/s ({number(min(under))} to {number(max(under))})",
        f"{abs(slower):.1%} {'slower' if slower > 0 else 'faster'} in the median",
    ]
    if not wish.quick:
        finding.expect(
            slower <= SLOWER_BY_AT_MOST,
            f"{slower:.1%} slower, promised at most {SLOWER_BY_AT_MOST:.0%}",
        )
    return finding


def _round(stage: Ground, provider: str, readers: int, *, held: bool) -> float:
    """Copies per second of one worker, between the start and the end of its calls."""
    with stage.database("round", like="readers") as url, closing(Desk(url)) as desk:
        with snapshot_held(url) if held else closing(Desk(url)):
            desk.publish(html=LETTER)
            manage(url, "deliver", "--until-empty", POSTMARK_BASE_URL=provider)
        (sent, seconds) = desk.ask(
            "SELECT sum(accepted), extract(epoch FROM max(finished_at) - min(started_at))::float8 "
            "FROM attempt"
        )
        assert sent == readers, (sent, readers)
        return readers / float(seconds)


@contextmanager
def snapshot_held(url: str) -> Iterator[None]:
    """A transaction with a snapshot and a number of its own, open for the length of a block."""
    with psycopg.connect(url) as session:
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        session.execute("SELECT pg_current_xact_id(), count(*) FROM batch")
        yield
        session.rollback()
