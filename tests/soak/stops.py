"""
A thousand signals to stop, at random instants under load: what do the stopped leave behind?

The storm of tests/faults/, longer and over a server as durable as in production.
"""

from __future__ import annotations

import time
from contextlib import closing

from postmark_sandbox.server import SandboxServer
from tests.faults.sigterm_storm import AT_ONCE, Storm
from tests.soak.desk import Desk
from tests.soak.finding import Finding, Wish, number, say
from tests.soak.ground import ground, manage

SIGNALS = 1_000
SIGNALS_QUICK = 20
READERS = 50_000
# As much as is sent while the next edition is being published.
RESERVE = 20_000
# Small and slow, so that there are many calls to be stopped in, and few copies in each.
BATCH = "20"
LATENCY_S = 0.1


def run(wish: Wish) -> Finding:
    """Stop them, look at what is left, and let one last worker finish."""
    signals = SIGNALS_QUICK if wish.quick else SIGNALS
    finding = Finding(
        f"{number(signals)} SIGTERMs and SIGINTs at random instants, {AT_ONCE} workers under load"
    )
    with (
        ground() as stage,
        stage.database("stops") as url,
        closing(Desk(url, DELIVERY_BATCH_SIZE=BATCH)) as desk,
        SandboxServer(latency_s=LATENCY_S) as provider,
    ):
        desk.confirm(READERS)
        editions = [desk.publish()]
        stopped = 0

        def keep_loaded() -> None:
            nonlocal stopped
            stopped += 1
            if stopped % 100 == 0:
                say(f"{stopped} signals, {number(desk.sent())} copies sent")
            accepted = provider.sandbox.outbox.counts()["accepted"]
            if accepted > READERS * len(editions) - RESERVE:
                editions.append(desk.publish())

        began = time.monotonic()
        storm = Storm(url, provider, seed=wish.seed)
        try:
            statuses = storm.blow(signals, keep_loaded)
        finally:
            storm.end()
        took_s = time.monotonic() - began
        _judge(finding, desk, statuses, signals)
        _finish(url, provider)
        copies = READERS * len(editions)
        summary = provider.sandbox.summary()
        finding.expect(
            (summary["accepted"], summary["distinct_deliveries"]) == (copies, copies),
            f"of {copies} copies {summary['distinct_deliveries']} were accepted, in "
            f"{summary['accepted']}",
        )
        breaches = desk.audit()
        finding.expect(not breaches, f"the audit says: {breaches}")
        finding.figures += [
            f"{number(copies)} copies, one each",
            f"{signals / took_s:.1f} stops a second",
        ]
    return finding


def _judge(finding: Finding, desk: Desk, statuses: list[int], signals: int) -> None:
    """Right after the last stop: no lease, no doubt, nobody still on the list of workers."""
    leases, unknown, workers, at_work = desk.ask(
        "SELECT (SELECT count(*) FROM batch WHERE lease_until IS NOT NULL), "
        "(SELECT count(*) FROM batch WHERE state NOT IN ('ready', 'done')), "
        "(SELECT count(*) FROM worker), (SELECT count(DISTINCT worker) FROM attempt)"
    )
    finding.expect(statuses == [0] * signals, f"not all ended with 0: {sorted(set(statuses))}")
    finding.expect(not leases, f"{leases} leases were left behind")
    finding.expect(not unknown, f"{unknown} batches were left half-way")
    finding.expect(not workers, f"{workers} workers did not say good-bye")
    finding.expect(at_work > signals / 5, f"only {at_work} of the workers were at work")
    finding.figures += [
        f"{signals} ended with 0",
        f"{at_work} of them at work",
        f"{leases} leases and {unknown} unknown left behind",
    ]


def _finish(url: str, provider: SandboxServer) -> None:
    """One worker sends what is left."""
    manage(url, "deliver", "--until-empty", POSTMARK_BASE_URL=provider.url)
