"""Rate and CPU time of one worker if the provider answers at once.

One real `deliver --until-empty` with its defaults is compared with three other senders on the same
PostgreSQL with full durability. A naive worker sends one message in each call. A loop of psycopg
and requests sends batches without any guarantee, with the number of threads that is fastest.
listmonk posts single messages to a server that uses even less CPU than the provider. All senders
send the same 2 kB letter to the same readers, one after the other. After each run the row checks
that every reader's copy has arrived once.

The CPU time of a copy is the time that the sender and PostgreSQL use for it. This time excludes the
provider and the sender's start. Workers also measure the phases of a step. Threads wait in
parallel, so the times of all phases add up to more than the elapsed time. The CPU times of all
phases add up to at most the elapsed time, because only one thread of a process runs at a time.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from benchmarks.frame import (
    Measured,
    Options,
    RowResult,
    at_least,
    at_most,
    in_turns,
    percent,
    ratio,
    say,
    shown,
)
from benchmarks.peers.build_listmonk import PeerUnavailableError
from benchmarks.peers.listmonk import TRIED_SETTINGS, Listmonk, a_listmonk
from benchmarks.sending import (
    Sendings,
    Sent,
    sent_by_bare_loop,
    sent_by_worker,
    sent_one_by_one,
)
from benchmarks.site.site import Site, a_site
from delivery.monitoring.delivery_metrics import Phase
from delivery.postmark.postmark_provider import BATCH

ROW = "delivery with a provider that answers at once, 2 kB bodies"
THREADS = (1, 2, 4, 8)
WORKER, NAIVE, LISTMONK, SINGLE = "worker", "one by one", "listmonk", "worker, batches of one"
PHASE_COUNTERS = {
    "all threads": "homing_worker_phase_seconds_total",
    "at work": "homing_worker_phase_cpu_seconds_total",
}
# The seconds by phase and counter, summed over all threads and workers.
Seconds = dict[tuple[str, str], float]


def measure(options: Options) -> RowResult:
    """Measure the worker's rate relative to the other senders, and a copy's CPU time."""
    readers = options.size(100_000, 2_000)
    few = options.size(2_000, 100)
    sendings, phases = Sendings(), list[Seconds]()
    notes = []
    with a_site() as site, a_site() as small_site:
        site.readers(readers)
        small_site.readers(few)
        batch = BATCH

        def worker_with_its_phases() -> Sent:
            before = phase_seconds(site)
            sent = sent_by_worker(site, readers)
            after = phase_seconds(site)
            phases.append({key: value - before.get(key, 0.0) for key, value in after.items()})
            return sent

        senders: dict[str, Callable[[], Sent]] = {WORKER: worker_with_its_phases}
        for threads in THREADS:
            name = f"bare loop, {threads} thread{'s' * (threads > 1)}"
            senders[name] = partial(sent_by_bare_loop, site, readers, batch=batch, threads=threads)
        senders[NAIVE] = partial(sent_one_by_one, site, few)
        senders[SINGLE] = partial(sent_by_worker, small_site, few, DELIVERY_BATCH_SIZE="1")
        try:
            listmonk = _fastest(a_listmonk(site, readers), options)
            senders[LISTMONK] = listmonk.send
            notes.append(f"listmonk: HTTP postback, {listmonk.pace}, the fastest of those tried.")
        except PeerUnavailableError as reason:
            notes.append(str(reason))
        rates = in_turns(
            options,
            {name: sendings.rate_of(name, send) for name, send in senders.items()},
            "copies/s",
        )
        notes += [_sizes(site, readers, few, batch)]
    by_name = dict(zip(senders, rates, strict=True))
    worker = by_name[WORKER]
    bare = max(
        (rate for name, rate in by_name.items() if name.startswith("bare loop")),
        key=lambda rate: rate.median,
    )
    cpu = {name: sendings.cpu(name, options.rounds) for name in senders}
    targets = [
        at_least(
            "at least 40 × the worker that sends one by one",
            ratio(ROW, worker, by_name[NAIVE]),
            40,
        ),
        at_least("at least 75 % of the bare loop", percent(ROW, worker, bare), 75),
        at_most("at most 50 µs of CPU a copy", cpu[WORKER][-1], 50),
        at_least("batches of one: at least 1,000/s", by_name[SINGLE], 1_000),
    ]
    if LISTMONK in by_name:
        times = ratio(ROW, worker, by_name[LISTMONK])
        targets.insert(2, at_least("at least 4 × listmonk", times, 4))
    return RowResult(
        ROW,
        tuple(targets),
        (
            *rates,
            *(figure for name in senders for figure in cpu[name]),
            *phase_figures(phases[-options.rounds :], readers),
        ),
        (*notes, f"The fastest bare loop: {bare.name}."),
    )


def phase_seconds(site: Site) -> Seconds:
    """Return the seconds of each phase so far. A worker adds its seconds when it ends."""
    with site.connect() as connection:
        rows = connection.execute(
            "SELECT name, labels, value FROM metric_value WHERE name = ANY(%s)",
            [list(PHASE_COUNTERS.values())],
        ).fetchall()
    return {(json.loads(labels)["phase"], name): value for name, labels, value in rows}


def phase_figures(runs: Sequence[Seconds], copies: int) -> tuple[Measured, ...]:
    """Return time and CPU time of each phase per copy."""
    return tuple(
        Measured(
            f"{phase.value}, {words}",
            "µs a copy",
            tuple(run.get((phase.value, counter), 0.0) / copies * 1e6 for run in runs),
        )
        for phase in Phase
        for words, counter in PHASE_COUNTERS.items()
    )


def _fastest(listmonk: Listmonk, options: Options) -> Listmonk:
    """Send once with each of listmonk's settings; return listmonk with the fastest."""
    if options.quick:
        return listmonk
    rates = {}
    for pace in TRIED_SETTINGS:
        rates[pace] = replace(listmonk, pace=pace).send().rate
        say(f"  {pace}: {shown(rates[pace], 'copies/s')}")
    return replace(listmonk, pace=max(rates, key=lambda pace: rates[pace]))


def _sizes(site: Site, readers: int, few: int, batch: int) -> str:
    processes, calls = (site.setting(f"DELIVERY_{name}") for name in ("PROCESSES", "CONCURRENCY"))
    return (
        f"{readers:,} readers, {few:,} for single messages; batches of {batch}. The worker: "
        f"{processes} processes with {calls} calls at a time each."
    )
