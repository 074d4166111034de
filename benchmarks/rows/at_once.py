"""
How fast is one worker where the provider costs no time?

One real `deliver --until-empty` with its defaults, all its promises included, against two
yardsticks over the same PostgreSQL with full durability: the naive worker, which sends one by one,
and a loop of psycopg and requests, which sends batches and promises nothing. All three send the
same letter of 2 kB with the same headers to the same provider, in turns. After each run the
provider must have seen every reader's copy once.
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
    """The worker's rate as a multiple of the one, and as a percentage of the other."""
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
            Target("at least 25 × the one that sends one by one", many_times, 25, False),
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
            f"{readers:,} readers, {few:,} of them one by one; where not said, batches of 200.",
            f"The worker: {CALLS} calls at a time, {threads_for(CALLS)} threads; one is at work.",
            "The bare loop: one thread, one call at a time, no promises.",
        ),
    )


if __name__ == "__main__":
    run_alone(measure)
