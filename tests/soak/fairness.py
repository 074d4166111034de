"""
How long does an issue to a hundred readers take while one to half a million is going out?

Measured from the commit of its publishing to the settling of its last copy, by the database's
clock, with a provider that takes the same time for every call; first alone, then beside the large
one, in the same run with the same settings.
"""

from __future__ import annotations

import statistics
import threading
import time
from contextlib import closing

from tests.soak.crew import Crew
from tests.soak.desk import LETTER, Desk, Published
from tests.soak.finding import Finding, Wish, number, say
from tests.soak.ground import ground
from tests.soak.providers import quick_provider

READERS = 500_000
READERS_QUICK = 20_000
FEW = 100
ROUNDS = 30
ROUNDS_QUICK = 2
CALL_TAKES_MS = 200
# Promised: out within twice its time alone.
MOST_TIMES_AS_LONG = 2.0
PATIENCE_S = 120


class NotOutError(Exception):
    """A small issue took far too long; the text says how the batches stood."""


def run(wish: Wish) -> Finding:
    """Publish the small one again and again, first alone and then beside the large one."""
    many = wish.readers_or(READERS, READERS_QUICK)
    rounds = ROUNDS_QUICK if wish.quick else ROUNDS
    finding = Finding(
        f"an issue to {FEW} readers beside one to {number(many)}, one worker, "
        f"{CALL_TAKES_MS} ms a call, {rounds} rounds"
    )
    with (
        ground() as stage,
        stage.database("fairness") as url,
        closing(Desk(url)) as desk,
        quick_provider(CALL_TAKES_MS) as provider,
    ):
        crew = Crew(url, provider, stage.folder / "workers.log")
        try:
            crew.begin()
            # The first version makes the few; the next ones go to those whom it reached.
            desk.confirm(FEW)
            small = desk.publish(html=LETTER)
            out_after_s(desk, small)
            desk.confirm(many - FEW, first=FEW)
            alone = []
            for _ in range(rounds):
                small = _next_version(desk, small)
                alone.append(out_after_s(desk, small))
            large = desk.publish(html=LETTER)
            say(f"alone {statistics.median(alone):.2f} s; the large one is published")
            beside = []
            for _ in range(rounds):
                if not _is_going_out(desk, large):
                    break
                small = _next_version(desk, small)
                beside.append(out_after_s(desk, small))
                # Not counted if the large one came to its end meanwhile.
                if not _is_going_out(desk, large):
                    beside.pop()
        except NotOutError as error:
            finding.short += [str(error), f"Last words of the worker:\n{crew.last_words()}"]
            return finding
        finally:
            crew.end()
        breaches = desk.audit()
        finding.expect(not breaches, f"the audit says: {breaches}")
    _judge(finding, alone, beside, rounds)
    return finding


def _next_version(desk: Desk, small: Published) -> Published:
    """The same to the same few again, as a correction."""
    version = str(small.version + 1)
    options = (f"--issue={small.issue}", f"--version={version}", "--goes-to=reached")
    published = desk.publish(*options, html=LETTER)
    assert published.audience == FEW, published
    return published


def out_after_s(desk: Desk, edition: Published) -> float:
    """Seconds from the commit of the publishing until the last copy was settled as sent."""
    pause = threading.Event()
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        sent, seconds = desk.ask(
            """
            SELECT (SELECT coalesce(sum(sent), 0) FROM batch WHERE edition_id = edition.id),
                   (SELECT extract(epoch FROM max(finished_at)
                           - pg_xact_commit_timestamp(edition.xmin))::float8
                    FROM attempt WHERE edition_id = edition.id)
            FROM edition WHERE issue_id = %s AND version = %s
            """,
            edition.issue,
            edition.version,
        )
        if sent == edition.audience:
            return float(seconds)
        pause.wait(0.05)
    raise NotOutError(
        f"version {edition.version} was not out after {PATIENCE_S} s: its batches are "
        + ", ".join(_states(desk))
    )


def _states(desk: Desk) -> list[str]:
    rows = desk.session.execute("SELECT state || ': ' || count(*) FROM batch GROUP BY state")
    return [row[0] for row in rows]


def _is_going_out(desk: Desk, large: Published) -> bool:
    """Whether so much of the large one is left that it was going out all the while."""
    (waiting,) = desk.ask(
        "SELECT coalesce(sum(waiting), 0) FROM batch JOIN edition ON edition.id = edition_id "
        "WHERE issue_id = %s",
        large.issue,
    )
    return int(waiting) > 0


def _judge(finding: Finding, alone: list[float], beside: list[float], rounds: int) -> None:
    finding.expect(
        len(beside) >= rounds // 2 + 1,
        f"only {len(beside)} of {rounds} rounds were over before the large one was",
    )
    if not beside:
        return
    usual, busy = statistics.median(alone), statistics.median(beside)
    finding.figures += [
        f"alone {usual:.2f} s in the median, {max(alone):.2f} s at worst",
        f"beside it {busy:.2f} s in the median, {max(beside):.2f} s at worst",
        f"{busy / usual:.2f} times as long in the median, {max(beside) / usual:.2f} at worst",
    ]
    finding.expect(
        busy <= MOST_TIMES_AS_LONG * usual,
        f"{busy / usual:.2f} times as long as alone, promised {MOST_TIMES_AS_LONG:g}",
    )
