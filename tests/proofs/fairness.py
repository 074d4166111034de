"""
Measure how long a small issue takes while a huge one is being sent.

The time runs from the commit of its publishing to its last settled copy, by the database's clock.
The provider takes the same time for every call. One run measures the small issue alone, then
together with the huge one, with the same settings.
"""

import statistics
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

from benchmarks.site.provider_process import a_provider
from delivery.models import Edition
from tests.faults.processes.forked_workers import Crew
from tests.proofs.author import LETTER, Desk, desk
from tests.proofs.environment import ground
from tests.proofs.proof import Finding, Wish, number, say

READERS = 500_000
READERS_QUICK = 20_000
FEW = 100
ROUNDS = 30
ROUNDS_QUICK = 2
CALL_TAKES_MS = 200
MOST_TIMES_AS_LONG = 2.0
PATIENCE_S = 120


def run(wish: Wish) -> Finding:
    """Publish the small issue repeatedly, alone and then with the large one."""
    many = wish.readers_or(READERS, READERS_QUICK)
    rounds = ROUNDS_QUICK if wish.quick else ROUNDS
    finding = Finding(
        f"an issue to {FEW} readers beside one to {number(many)}, one worker, "
        f"{CALL_TAKES_MS} ms a call, {rounds} rounds"
    )
    with (
        ground() as server,
        desk(server) as it,
        a_provider(delay_ms=CALL_TAKES_MS) as provider,
        tempfile.TemporaryDirectory() as folder,
        closing(Crew(it.url, provider.url, Path(folder) / "log")) as crew,
    ):
        crew.begin()
        # The first version goes to the few readers. The next versions go to the same readers.
        it.confirm(FEW)
        small = it.publish(LETTER)
        _out_after_s(it, small)
        it.confirm(many - FEW, first=FEW)
        alone, beside = [], []
        for _ in range(rounds):
            small = _next_version(it, small)
            alone.append(_out_after_s(it, small))
        large = it.publish(LETTER)
        say(f"alone {statistics.median(alone):.2f} s; the large one is published")
        for _ in range(rounds):
            small = _next_version(it, small)
            took_s = _out_after_s(it, small)
            if not _is_going_out(it, large):
                break
            beside.append(took_s)
        crew.stop()
        finding.expect(
            len(beside) > rounds // 2, f"the large issue ended after {len(beside)} rounds"
        )
        usual, busy = statistics.median(alone), statistics.median(beside or [0.0])
        worst = max(beside, default=0)
        finding.figures += [
            f"alone {usual:.2f} s in the median, {max(alone):.2f} s at worst",
            f"beside the large one {busy:.2f} s in the median, {worst:.2f} s at worst",
            f"{busy / usual:.2f} times as long in the median",
        ]
        finding.expect(
            busy <= MOST_TIMES_AS_LONG * usual,
            f"{busy / usual:.2f} times as long as alone, promised {MOST_TIMES_AS_LONG:g}",
        )
    return finding


def _next_version(it: Desk, small: Edition) -> Edition:
    """Publish a correction to the same few readers."""
    version = small.version + 1
    published = it.publish(LETTER, issue=small.issue_id, version=version, goes_to="reached")
    assert published.audience == FEW, published
    return published


def _out_after_s(it: Desk, edition: Edition) -> float:
    """Return the seconds from the publishing commit to the last settled copy."""
    pause = threading.Event()
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        sent, seconds = it.ask(
            """
            SELECT (SELECT coalesce(sum(sent), 0) FROM batch WHERE edition_id = edition.id),
                   (SELECT extract(epoch FROM max(finished_at)
                           - pg_xact_commit_timestamp(edition.xmin))::float8
                    FROM attempt WHERE edition_id = edition.id)
            FROM edition WHERE id = %s
            """,
            edition.pk,
        )
        if sent == edition.audience:
            return float(seconds)
        pause.wait(0.05)
    raise RuntimeError(f"version {edition.version} was not sent after {PATIENCE_S} s")


def _is_going_out(it: Desk, large: Edition) -> bool:
    """Whether copies of the large issue still wait, so that it is still being sent."""
    query = "SELECT coalesce(sum(waiting), 0) FROM batch WHERE edition_id = %s"
    return int(it.ask(query, large.pk)[0]) > 0
