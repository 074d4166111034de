"""
Stop a thousand workers at random moments, and check that nothing is left.

The stop signals of tests/faults/, for longer and with a server as durable as in production.
"""

import time

from django.test import override_settings

from postmark_sandbox.server import SandboxServer
from tests.faults.processes.random_sigterms import AT_ONCE, stop_at_random, workers_to_stop
from tests.proofs.author import desk
from tests.proofs.environment import ground, manage
from tests.proofs.proof import Finding, Wish, number, say

SIGNALS = 1_000
SIGNALS_QUICK = 20
READERS = 50_000
# About as many copies as are sent while the next edition is being published.
RESERVE = 20_000
# Calls are slow and have few copies, so that many signals hit a call.
BATCH = 20
LATENCY_S = 0.1


def run(wish: Wish) -> Finding:
    """Stop the workers, check what is left, and let one last worker finish."""
    signals = SIGNALS_QUICK if wish.quick else SIGNALS
    finding = Finding(
        f"{number(signals)} SIGTERMs and SIGINTs at random instants, {AT_ONCE} workers under load"
    )
    with (
        ground() as server,
        desk(server) as it,
        override_settings(DELIVERY_BATCH_SIZE=BATCH),
        SandboxServer(latency_s=LATENCY_S) as provider,
    ):
        readers = wish.readers_or(READERS, RESERVE // 10)
        reserve = min(RESERVE, readers // 2)
        it.confirm(readers)
        it.publish()
        editions, stopped = 1, 0

        def keep_loaded() -> None:
            nonlocal editions, stopped
            stopped += 1
            if stopped % 100 == 0:
                say(f"{stopped} signals, {number(it.sent())} copies sent")
            if provider.sandbox.outbox.counts()["accepted"] > readers * editions - reserve:
                it.publish()
                editions += 1

        began = time.monotonic()
        with workers_to_stop(it.url, provider) as crew:
            statuses = stop_at_random(crew, provider, signals, keep_loaded, seed=wish.seed)
        took_s = time.monotonic() - began
        leases, unknown, workers, at_work = it.ask(
            "SELECT (SELECT count(*) FROM batch WHERE lease_until IS NOT NULL), "
            "(SELECT count(*) FROM batch WHERE state NOT IN ('ready', 'done')), "
            "(SELECT count(*) FROM worker), (SELECT count(DISTINCT worker) FROM attempt)"
        )
        finding.expect(statuses == [0] * signals, f"not all ended with 0: {sorted(set(statuses))}")
        finding.expect(not leases, f"{leases} leases were left behind")
        finding.expect(not unknown, f"{unknown} batches were left half-way")
        finding.expect(not workers, f"{workers} workers left their row in `worker`")
        finding.expect(
            wish.quick or at_work > signals / 5, f"only {at_work} of the workers were at work"
        )
        manage(it.url, "deliver", "--until-empty", POSTMARK_BASE_URL=provider.url)
        it.judge(finding, provider.sandbox.summary(), readers * editions, editions)
        finding.figures += [
            f"{signals} ended with 0",
            f"{at_work} of them at work",
            f"{leases} leases and {unknown} unknown left behind",
            f"{number(readers * editions)} copies, one each",
            f"{signals / took_s:.1f} stops a second",
        ]
    return finding
