"""
Send to a large list while workers are killed, calls fail and the search lags.

In the end every reader has one copy, the records balance, and no operator had to act. `chaos` has
shorter time-outs, and workers that end when the queue is empty.
"""

import random
import tempfile
import threading
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.site.sandbox_process import Sandbox, a_sandbox
from tests.faults.processes.forked_workers import Crew
from tests.proofs.author import Desk, desk
from tests.proofs.environment import ground
from tests.proofs.proof import Finding, Wish, number, say
from tests.proofs.slow_clients import slow_clients

WORKERS = 4
KILL_EVERY_S = 1.0
SHARE_CUT = 0.05
SAY_EVERY = 10
# In this number of calls, each kind of fault certainly occurs.
ENOUGH_CALLS = 500


@dataclass(frozen=True)
class Conditions:
    """The faults of a run, and its times, which are shorter than the defaults."""

    readers: int
    call_ms: int  # long enough that kills find calls in flight
    refused: float  # share of calls answered 429
    search_is_late_s: int
    settings: dict[str, str]
    until_empty: bool = False
    slow_clients: int = 0  # of a web server on the same database


# The last look-up comes well after the search has caught up, as with the defaults.
STORM = Conditions(
    readers=500_000,
    call_ms=200,
    refused=0.05,
    search_is_late_s=30,
    settings={
        "DELIVERY_HTTP_DEADLINE_S": "5",
        "DELIVERY_LEASE_S": "5",
        "DELIVERY_LOOKUP_AFTER_S": "10,40,60",
        "DELIVERY_RETRY_BASE_S": "0.5",
        "DELIVERY_RETRY_CAP_S": "10",
    },
)
CHAOS = Conditions(
    readers=100_000,
    call_ms=100,
    refused=0.0,
    search_is_late_s=0,
    settings={
        "DELIVERY_HTTP_DEADLINE_S": "4",
        "DELIVERY_LEASE_S": "2",
        "DELIVERY_LOOKUP_AFTER_S": "1,2,3",
        "DELIVERY_RETRY_BASE_S": "0.1",
        "DELIVERY_RETRY_CAP_S": "1",
    },
    until_empty=True,
    slow_clients=20,
)
QUICK_READERS = 2_000
QUICK = {
    "DELIVERY_HTTP_DEADLINE_S": "3",
    "DELIVERY_LEASE_S": "1",
    "DELIVERY_LOOKUP_AFTER_S": "1,2,4",
}


def storm(wish: Wish) -> Finding:
    return _run(wish, STORM)


def chaos(wish: Wish) -> Finding:
    return _run(wish, CHAOS)


def _run(wish: Wish, conditions: Conditions) -> Finding:
    """Publish once, kill workers until every reader is served, and count."""
    readers = wish.readers_or(conditions.readers, QUICK_READERS)
    quick = QUICK if wish.quick else {}
    late_s = min(conditions.search_is_late_s, 1) if wish.quick else conditions.search_is_late_s
    finding = Finding(
        f"{number(readers)} deliveries, {WORKERS} workers, one killed every second, "
        f"{SHARE_CUT:.0%} of calls cut off after acceptance, {conditions.refused:.0%} refused with "
        f"429, the search {late_s} s late"
    )
    # A refused call cannot be cut off as well, so a larger share of the other calls is cut off.
    cut = SHARE_CUT / (1 - conditions.refused)
    faults = (
        f"refuse_429:probability={conditions.refused},seed={wish.seed}",
        f"accept_then_close:probability={cut:.6f},seed={wish.seed + 1}",
        f"search_delay:seconds={late_s}",
    )
    options = [word for fault in faults for word in ("--fault", fault)]
    ends = ["--until-empty"] if conditions.until_empty else []
    with (
        ground() as server,
        desk(server) as it,
        a_sandbox("--latency-ms", str(conditions.call_ms), *options) as provider,
        tempfile.TemporaryDirectory() as folder,
        closing(
            Crew(it.url, provider.url, Path(folder) / "log", *ends, **conditions.settings | quick)
        ) as crew,
    ):
        it.confirm(readers)
        it.publish()
        say(f"published to {number(readers)} readers")
        began = time.monotonic()
        with ExitStack() as beside:
            if conditions.slow_clients:
                settings = {"DATABASE_URL": it.url, "POSTMARK_BASE_URL": provider.url}
                site = slow_clients(conditions.slow_clients, Path(folder), **settings)
                beside.callback(beside.enter_context(site).judge, finding)
            _kill_until_served(crew, it, readers, random.Random(wish.seed))
        minutes = (time.monotonic() - began) / 60
        alone = crew.ended_alone()
        finding.expect(conditions.until_empty or not alone, f"{alone} workers ended on their own")
        statuses = crew.statuses(crew.running) if conditions.until_empty else crew.stop()
        finding.expect(statuses == [0] * WORKERS, f"the workers ended with {statuses}")
        it.judge(finding, provider.summary(), readers, editions=1)
        _count(finding, it, provider, crew.kills)
        finding.figures.append(f"{minutes:.1f} minutes")
        if not finding.passed:
            finding.short.append(f"Last lines of the workers:\n{crew.last_lines()}")
    return finding


def _kill_until_served(crew: Crew, it: Desk, readers: int, dice: random.Random) -> None:
    """Kill one worker a second until every reader is served or time runs out."""
    crew.begin(WORKERS)
    pause = threading.Event()
    began = time.monotonic()
    while (sent := it.sent()) < readers and time.monotonic() - began < 400 + readers / 250:
        pause.wait(KILL_EVERY_S)
        crew.kill_one(dice)
        if crew.kills % SAY_EVERY == 0:
            waiting, unknown = it.open_copies()
            say(
                f"{time.monotonic() - began:4.0f} s: {number(sent)} sent, {number(waiting)} "
                f"waiting, {number(unknown)} unconfirmed, {crew.kills} kills"
            )


def _count(finding: Finding, it: Desk, provider: Sandbox, kills: int) -> None:
    calls = provider.summary()["calls"]
    by_fault, by_path = calls["by_fault"], calls["by_path"]
    cut, refused = by_fault.get("accept_then_close", 0), by_fault.get("refuse_429", 0)
    sendings = by_path.get("/email/batch", 0)
    lost, batches = it.ask(
        "SELECT (SELECT count(*) FROM attempt WHERE result = 'unknown' AND finished_at IS NULL), "
        "(SELECT count(*) FROM batch)"
    )
    finding.figures += [
        f"{number(it.sent())} sent, one copy each",
        f"{kills} kills",
        f"{number(sendings)} calls: {cut} cut off, {refused} with 429, {lost} lost with a worker",
        f"{by_path.get('/messages/outbound', 0)} look-ups",
        f"{batches} batches in the end",
    ]
    finding.expect(kills > 0, "no worker was killed")
    finding.expect(cut > 0 or sendings < ENOUGH_CALLS, "no call was cut off")
