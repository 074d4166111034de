"""How much of the ceiling of 200 ms calls does one worker reach?

The provider takes 200 ms per call. Eight calls of 500 copies are in flight, all of one process, so
no sender can exceed 20,000 copies a second. One real `deliver` with all its guarantees reads,
renders, records and settles meanwhile; its share of the ceiling is measured.
"""

from benchmarks.frame import Measured, Options, RowResult, Target, in_turns, percent, run_alone
from benchmarks.sending import worker_rate
from benchmarks.site.site import a_site

CALL_MS, CALLS, BATCH = 200, 8, 500
CEILING_PER_S = CALLS * BATCH * 1000 / CALL_MS
ROW = "delivery with 200 ms per call, 8 in flight, 500 per batch"


def measure(options: Options) -> RowResult:
    """Measure the worker's rate as a percentage of the ceiling."""
    readers = options.size(200_000, 8_000)
    settings = {
        "DELIVERY_PROCESSES": "1",
        "DELIVERY_CONCURRENCY": str(CALLS),
        "DELIVERY_BATCH_SIZE": str(BATCH),
    }
    with a_site() as site:
        site.readers(readers)
        (worker,) = in_turns(
            options,
            {"worker": lambda: worker_rate(site, readers, delay_ms=CALL_MS, **settings)},
            "copies/s",
        )
    ceiling = Measured("ceiling", "copies/s", (CEILING_PER_S,) * len(worker.runs))
    return RowResult(
        ROW,
        (Target("at least 80 % of the ceiling", percent(ROW, worker, ceiling), 80, False),),
        (worker,),
        (f"{readers:,} readers; the ceiling is {CEILING_PER_S:,.0f} copies/s.",),
    )


if __name__ == "__main__":
    run_alone(measure)
