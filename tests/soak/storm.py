"""
A large list in a storm: workers killed, calls cut off and refused, and a search that is late.

In the end every reader has one copy, the books balance, and nobody had to do anything.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.soak.crew import Crew
from tests.soak.desk import Desk, Published
from tests.soak.finding import Finding, Wish, number, say
from tests.soak.ground import Ground, ground
from tests.soak.providers import Sandbox, sandbox

READERS = 500_000
READERS_QUICK = 2_000
WORKERS = 4
KILL_EVERY_S = 1.0
SHARE_CUT = 0.05
SHARE_429 = 0.05
SEARCH_IS_LATE_S = 30
SEARCH_IS_LATE_QUICK_S = 1
# A provider that takes its time, so that kills find calls in the air.
CALL_TAKES_MS = 200

# Shorter than the defaults (120 s, 30 s, and a minute, five and fifteen), in the same proportions:
# the last look-up comes well after the search has caught up. Batches are of 200, the default.
SETTINGS = {
    "DELIVERY_HTTP_DEADLINE_S": "5",
    "DELIVERY_LEASE_S": "5",
    "DELIVERY_LOOKUP_AFTER_S": "10,40,60",
    "DELIVERY_RETRY_BASE_S": "0.5",
    "DELIVERY_RETRY_CAP_S": "10",
}
# Tiny sizes are to be over soon.
SETTINGS_QUICK = SETTINGS | {
    "DELIVERY_HTTP_DEADLINE_S": "3",
    "DELIVERY_LEASE_S": "1",
    "DELIVERY_LOOKUP_AFTER_S": "1,2,4",
}
SAY_EVERY = 10
# Of so many calls some are surely hit by either fault.
ENOUGH_CALLS = 500


def longest_s(readers: int) -> float:
    """Seconds after which a storm is given up."""
    return 400 + readers / 250


def faults(seed: int, *, late_s: int) -> list[str]:
    """The sandbox's options. A call that is refused is not drawn for being cut off as well."""
    cut = SHARE_CUT / (1 - SHARE_429)
    return [
        *("--latency-ms", str(CALL_TAKES_MS)),
        *("--fault", f"refuse_429:probability={SHARE_429},seed={seed}"),
        *("--fault", f"accept_then_close:probability={cut:.6f},seed={seed + 1}"),
        *("--fault", f"search_delay:seconds={late_s}"),
    ]


@contextmanager
def crew_for(
    stage: Ground, desk: Desk, provider: Sandbox, settings: dict[str, str]
) -> Iterator[Crew]:
    """The workers, gone at the end of the block."""
    crew = Crew(desk.url, provider.url, stage.folder / "workers.log", **settings)
    try:
        yield crew
    finally:
        crew.end()


def run(wish: Wish) -> Finding:
    """Publish once, let the storm blow until everybody is served, and count."""
    readers = wish.readers_or(READERS, READERS_QUICK)
    settings = SETTINGS_QUICK if wish.quick else SETTINGS
    late_s = SEARCH_IS_LATE_QUICK_S if wish.quick else SEARCH_IS_LATE_S
    finding = Finding(
        f"{number(readers)} deliveries, {WORKERS} workers, one killed every second, "
        f"{SHARE_CUT:.0%} of calls cut off after acceptance, {SHARE_429:.0%} refused with 429, "
        f"the search {late_s} s late"
    )
    with ground() as stage, stage.database("storm") as url, closing(Desk(url)) as desk:
        desk.confirm(readers)
        with (
            sandbox(*faults(wish.seed, late_s=late_s)) as provider,
            crew_for(stage, desk, provider, settings) as crew,
        ):
            edition = desk.publish()
            say(f"published to {number(edition.audience)} readers")
            began = time.monotonic()
            _blow(crew, desk, provider, readers, random.Random(wish.seed))
            minutes = (time.monotonic() - began) / 60
            _judge(finding, desk, provider, crew, edition, readers)
            _count(finding, desk, provider, crew, minutes)
            if not finding.passed:
                finding.short.append(f"Last words of the workers:\n{crew.last_words()}")
    return finding


def _blow(crew: Crew, desk: Desk, provider: Sandbox, readers: int, dice: random.Random) -> None:
    """Kill one worker a second until everybody is served, or far too long."""
    crew.begin(WORKERS)
    pause = threading.Event()
    began = time.monotonic()
    next_kill = began + KILL_EVERY_S
    while (sent := desk.sent()) < readers and time.monotonic() - began < longest_s(readers):
        pause.wait(max(0.0, next_kill - time.monotonic()))
        next_kill = max(next_kill + KILL_EVERY_S, time.monotonic())
        crew.kill_one(dice)
        if crew.kills % SAY_EVERY == 0:
            waiting, unknown = desk.open_copies()
            say(
                f"{time.monotonic() - began:4.0f} s: {number(sent)} sent, {number(waiting)} "
                f"waiting, {number(unknown)} in doubt, {crew.kills} kills, "
                f"sandbox {provider.memory_mb():.0f} MB"
            )


def _judge(
    finding: Finding,
    desk: Desk,
    provider: Sandbox,
    crew: Crew,
    edition: Published,
    readers: int,
) -> None:
    """Compare what the books say with what the provider accepted."""
    died = crew.deaths_of_their_own()
    statuses = crew.stop()
    finding.expect(not died, f"{died} workers ended by themselves")
    finding.expect(statuses == [0] * WORKERS, f"stopped workers ended with {statuses}")
    sent, (waiting, unknown) = desk.sent(), desk.open_copies()
    finding.expect(
        (sent, waiting, unknown) == (readers, 0, 0),
        f"of {readers} readers {sent} were sent theirs; {waiting} wait, {unknown} are in doubt",
    )
    state = desk.state(edition)
    finding.expect(state == "succeeded", f"the edition is {state}")
    finding.expect(desk.alarms() == 0, f"{desk.alarms()} alarms were raised")
    breaches = desk.audit()
    finding.expect(not breaches, f"the audit says: {breaches}")
    outbox = provider.summary()
    for count, expected in (
        ("accepted", readers),
        ("distinct_deliveries", readers),
        ("deliveries_with_more_than_one_copy", 0),
        ("readers_with_two_of_one_edition", 0),
    ):
        found = outbox[count]
        finding.expect(found == expected, f"the provider's {count} is {found}, not {expected}")


def _count(finding: Finding, desk: Desk, provider: Sandbox, crew: Crew, minutes: float) -> None:
    calls = provider.summary()["calls"]
    by_fault, by_path = calls["by_fault"], calls["by_path"]
    cut, refused = by_fault.get("accept_then_close", 0), by_fault.get("refuse_429", 0)
    sendings = by_path.get("/email/batch", 0)
    lost, batches = desk.ask(
        "SELECT (SELECT count(*) FROM attempt WHERE result = 'unknown' AND finished_at IS NULL), "
        "(SELECT count(*) FROM batch)"
    )
    finding.figures += [
        f"{number(desk.sent())} sent, one copy each",
        f"{crew.kills} kills",
        f"{number(sendings)} calls: {cut} cut off, {refused} with 429, {lost} lost with a worker",
        f"{by_path.get('/messages/outbound', 0)} look-ups",
        f"{batches} batches in the end",
        f"{minutes:.1f} minutes",
        f"sandbox {provider.memory_mb():.0f} MB",
    ]
    finding.expect(crew.kills > 0, "no worker was killed")
    if sendings >= ENOUGH_CALLS:
        finding.expect(cut > 0, "no call was cut off")
        finding.expect(refused > 0, "no call was refused")
