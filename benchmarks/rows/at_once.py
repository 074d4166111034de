"""How fast is one worker if the provider costs no time?

One real `deliver --until-empty` with defaults is compared with two yardsticks on the same
PostgreSQL with full durability. The naive worker sends one by one. A loop of psycopg and requests
sends batches without any guarantee. All three send the same 2 kB letter with the same headers to
the same provider, in turns. After each run the provider must have received every reader's copy
once.
"""

from functools import partial

from benchmarks.frame import Options, RowResult, Target, in_turns, percent, ratio, run_alone
from benchmarks.phases import Phases
from benchmarks.sending import bare_loop_rate, one_by_one_rate, worker_rate
from benchmarks.site.site import a_site
from delivery.worker.call_slots import threads_for

CALLS = 4  # DELIVERY_CONCURRENCY by default
ROW = "delivery with a provider that answers at once, 2 kB bodies"


def measure(options: Options) -> RowResult:
    """Measure the worker's rate relative to both yardsticks."""
    readers = options.size(100_000, 2_000)
    few = options.size(2_000, 100)
    phases = Phases(readers)
    with a_site() as site:
        site.readers(readers)

        def worker_with_its_phases() -> float:
            with phases.counted(site):
                return worker_rate(site, readers)

        worker, bare, naive, worker_500, bare_500 = in_turns(
            options,
            {
                "worker": worker_with_its_phases,
                "bare loop": partial(bare_loop_rate, site, readers, batch=200),
                "one by one": partial(one_by_one_rate, site, few),
                "worker, batches of 500": partial(
                    worker_rate, site, readers, DELIVERY_BATCH_SIZE="500"
                ),
                "bare loop, batches of 500": partial(bare_loop_rate, site, readers, batch=500),
            },
            "copies/s",
        )
    many_times = ratio(ROW, worker, naive)
    share = percent(ROW, worker, bare)
    return RowResult(
        ROW,
        (
            Target("at least 25 × the worker that sends one by one", many_times, 25, False),
            Target("at least 60 % of the bare loop", share, 60, False),
        ),
        (
            worker,
            bare,
            naive,
            worker_500,
            bare_500,
            percent("worker : bare loop, batches of 500", worker_500, bare_500),
            *phases.figures(options.rounds),
        ),
        (
            f"{readers:,} readers, {few:,} one by one; batches of 200 unless stated.",
            f"The worker: {CALLS} calls at a time, {threads_for(CALLS)} threads, one running.",
            "The bare loop: one thread, one call at a time, no guarantees.",
        ),
    )


if __name__ == "__main__":
    run_alone(measure)
