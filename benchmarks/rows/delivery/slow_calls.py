"""How fast is one worker if a call takes 50 ms or 200 ms?

With 50 ms per call, one real `deliver --until-empty` sends with its defaults: it chooses the
numbers of processes, of calls and of messages in a call. With 200 ms per call, one process has at
most eight calls of 500 copies in flight, so at most 20,000 copies a second are possible. During
the calls, the worker also reads, renders, records and settles copies with all its guarantees. The
row measures how much of the possible maximum the worker reaches.
"""

from benchmarks.frame import Measured, Options, RowResult, at_least, in_turns, percent
from benchmarks.sending import worker_rate
from benchmarks.site.site import a_site

CALLS, BATCH = 8, 500
CEILING_PER_S = CALLS * BATCH * 1000 / 200
ONE_PROCESS = {
    "DELIVERY_PROCESSES": "1",
    "DELIVERY_CONCURRENCY": str(CALLS),
    "DELIVERY_BATCH_SIZE": str(BATCH),
}
FAST, SLOW = "50 ms per call, the defaults", "200 ms per call, 8 in flight, 500 per batch"


def measure(options: Options) -> RowResult:
    """Measure the worker's rate, and its share of the maximum."""
    readers = options.size(200_000, 8_000)
    with a_site() as site:
        site.readers(readers)
        fast, slow = in_turns(
            options,
            {
                FAST: lambda: worker_rate(site, readers, delay_ms=50),
                SLOW: lambda: worker_rate(site, readers, delay_ms=200, **ONE_PROCESS),
            },
            "copies/s",
        )
    ceiling = Measured("ceiling", "copies/s", (CEILING_PER_S,) * len(slow.runs))
    return RowResult(
        "delivery with slow calls",
        (
            at_least("50 ms per call, the defaults: at least 20,000/s", fast, 20_000),
            at_least("200 ms: at least 80 % of the ceiling", percent(SLOW, slow, ceiling), 80),
        ),
        (slow,),
        (f"{readers:,} readers; the ceiling of 200 ms is {CEILING_PER_S:,.0f} copies/s.",),
    )
