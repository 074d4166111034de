"""How fast is one worker with its defaults if a call takes 50 ms?

The provider takes 50 ms per call. One real `deliver --until-empty` sends with as many processes,
calls and messages in each as it chooses.
"""

from benchmarks.frame import Options, RowResult, Target, in_turns, run_alone
from benchmarks.sending import worker_rate
from benchmarks.site.site import a_site

CALL_MS = 50
ROW = "delivery with 50 ms per call, with the defaults"


def measure(options: Options) -> RowResult:
    """Measure the worker's rate."""
    readers = options.size(200_000, 2_000)
    with a_site() as site:
        site.readers(readers)
        (worker,) = in_turns(
            options,
            {"worker": lambda: worker_rate(site, readers, delay_ms=CALL_MS)},
            "copies/s",
        )
    return RowResult(
        ROW, (Target("at least 20,000/s", worker, 20_000, False),), (), (f"{readers:,} readers.",)
    )


if __name__ == "__main__":
    run_alone(measure)
