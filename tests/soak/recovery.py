"""
How soon is what a killed worker held in other hands, and how soon is doubt settled?

Workers are killed -9 while they prepare batches and while calls are in the air, several a second;
then those that are left put everything in order. Every time is the database's own.
"""

from __future__ import annotations

import random
import threading
import time
from contextlib import closing

from tests.soak import history
from tests.soak.crew import Crew
from tests.soak.desk import LETTER, Desk
from tests.soak.finding import Finding, Wish, number, say
from tests.soak.ground import Ground, ground
from tests.soak.providers import sandbox

READERS = 150_000
READERS_QUICK = 10_000
WORKERS = 4
KILLS_EVERY_S = (0.1, 0.5)
AIMED = 0.5
AIMS_FOR_S = 0.5
BLOW_S = 25.0
BLOW_QUICK_S = 5.0
# The default, and one that is over while workers are still being killed.
LEASES_S = (30.0, 2.0)
DEADLINE_S = 5.0
# The first look-up is due when nobody is killed any more, so that none is lost with its worker.
LOOK_UPS_S = (30.0, 35.0, 40.0)
SWEEP_EVERY_S = 5.0

# What is promised: claimed work of a killed worker is taken over within the lease and 10 s. A lease
# begins before the kill, so 10 s after its end is the stricter of the two.
TAKEN_OVER_WITHIN_S = 10.0
# Doubt is settled by the schedule; a worker looks every second, and one look-up takes its time.
SETTLED_WITHIN_S = SWEEP_EVERY_S + 5.0
NOTICED_WITHIN_S = SWEEP_EVERY_S + 5.0


def run(wish: Wish) -> Finding:
    """Once with the default lease and once with a short one."""
    readers = wish.readers_or(READERS, READERS_QUICK)
    leases = LEASES_S[1:] if wish.quick else LEASES_S
    finding = Finding(
        "workers killed -9 with claimed batches and with calls in the air, leases of "
        + " and ".join(f"{lease:g} s" for lease in leases)
    )
    with ground() as stage:
        for lease_s in leases:
            _with_lease(stage, finding, wish, readers, lease_s)
    return finding


def _with_lease(stage: Ground, finding: Finding, wish: Wish, readers: int, lease_s: float) -> None:
    settings = {
        "DELIVERY_HTTP_DEADLINE_S": f"{DEADLINE_S:g}",
        "DELIVERY_LEASE_S": f"{lease_s:g}",
        "DELIVERY_LOOKUP_AFTER_S": ",".join(f"{after:g}" for after in LOOK_UPS_S),
    }
    dice = random.Random(wish.seed)
    with (
        stage.database(f"recovery_{lease_s:g}") as url,
        closing(Desk(url)) as desk,
        sandbox("--latency-ms", "50") as provider,
    ):
        desk.confirm(readers)
        history.keep(desk)
        crew = Crew(url, provider.url, stage.folder / "workers.log", **settings)
        try:
            desk.publish(html=LETTER)
            _kill_for(BLOW_QUICK_S if wish.quick else BLOW_S, crew, desk, dice)
            say(f"lease {lease_s:g} s: {crew.kills} kills; {number(desk.sent())} sent so far")
            _wait_until_settled(desk, readers, lease_s)
            statuses = crew.stop()
            finding.expect(statuses == [0] * WORKERS, f"stopped workers ended with {statuses}")
            _judge(finding, desk, crew, lease_s)
            accepted = provider.summary()
        finally:
            crew.end()
        finding.expect(
            (accepted["accepted"], accepted["distinct_deliveries"]) == (readers, readers),
            f"of {readers} readers {accepted['distinct_deliveries']} were accepted, in "
            f"{accepted['accepted']} copies",
        )
        breaches = desk.audit()
        finding.expect(not breaches, f"the audit says: {breaches}")


def _kill_for(seconds: float, crew: Crew, desk: Desk, dice: random.Random) -> None:
    """
    Kill one worker after another while there is something to send.

    A batch is claimed for some hundredths of a second only, so every second kill is aimed at a
    worker that is seen to hold a claim. The others hit whatever they hit, mostly calls.
    """
    crew.begin(WORKERS)
    pause = threading.Event()
    began = time.monotonic()
    while time.monotonic() - began < seconds and desk.open_copies()[0]:
        pause.wait(dice.uniform(*KILLS_EVERY_S))
        claimant = _who_holds_a_claim(desk, crew) if dice.random() < AIMED else None
        if claimant is None:
            crew.kill_one(dice)
        else:
            crew.kill(claimant)


def _who_holds_a_claim(desk: Desk, crew: Crew) -> int | None:
    """The process id of a living worker that prepares a batch, if one is seen soon."""
    end = time.monotonic() + AIMS_FOR_S
    while time.monotonic() < end:
        (pid,) = desk.ask(
            "SELECT min(pid) FROM batch JOIN worker ON worker.id = owner "
            "WHERE state = 'claimed' AND pid = ANY(%s)",
            crew.running(),
        )
        if pid is not None:
            return int(pid)
    return None


def _wait_until_settled(desk: Desk, readers: int, lease_s: float) -> None:
    """Wait until everybody is served, or far too long."""
    pause = threading.Event()
    end = time.monotonic() + lease_s + LOOK_UPS_S[-1] + 120 + readers / 500
    while desk.sent() < readers and time.monotonic() < end:
        pause.wait(0.5)


def _judge(finding: Finding, desk: Desk, crew: Crew, lease_s: float) -> None:
    taken_over = history.taken_over(desk)
    noticed = history.noticed(desk)
    settled = history.settled(desk, last_look_up_s=LOOK_UPS_S[-1])
    late = sum(second > 0 for second in settled.seconds)
    finding.figures.append(
        f"lease {lease_s:g} s: {crew.kills} kills, {len(taken_over.seconds)} lost claims taken "
        f"over at most {taken_over.worst:.1f} s after the end of the lease, "
        f"{len(noticed.seconds)} lost calls known at most {noticed.worst:.1f} s after it, "
        f"{len(settled.seconds)} doubts settled, {late} after the last look-up was due, by at "
        f"most {max(settled.worst, 0):.1f} s"
    )
    for times, within_s, what in (
        (taken_over, TAKEN_OVER_WITHIN_S, "a lost claim was taken over"),
        (noticed, NOTICED_WITHIN_S, "a lost call was known to be in doubt"),
        (settled, SETTLED_WITHIN_S, "a doubt was settled"),
    ):
        finding.expect(times.worst <= within_s, f"{what} only after {times.worst:.1f} s")
        finding.expect(not times.never, f"{times.never} times never {what}")
        finding.expect(bool(times.seconds), f"not once {what}: nothing was tried")
    lost = history.lost_look_ups(desk)
    finding.expect(not lost, f"{lost} look-ups were lost, and none should have been tried")
