"""How long does the progress endpoint take at a million deliveries?

One real `deliver` with four processes sends to a million readers, and the provider takes 200 ms per
call. It keeps both cores of a small machine busy. Another process requests the page's reading forty
times a round through the site's own WSGI application. The time begins after the middleware, so it
includes the session, the user and the permissions. The whole answer is a further figure. The target
is for an unshared reading, with fresh counts. Pages that are open in the same web process share a
reading within a second; that is a further figure.
"""

import statistics
import time
from contextlib import ExitStack
from typing import Any

from benchmarks.frame import Measured, Options, RowResult, Target, run_alone, say, shown
from benchmarks.programs.sign_in import sessions_of
from benchmarks.site.site import Site, a_site
from benchmarks.site.within_site import within

BOUND_MS = 20.0
PROCESSES, CALL_MS, READINGS = 4, 200.0, 40
BEGINS_WITHIN_S = 60.0
WAITING = "SELECT coalesce(sum(waiting), 0)::bigint FROM batch"
ACCEPTED = "SELECT coalesce(sum(accepted), 0)::bigint FROM attempt"


def measure(options: Options) -> RowResult:
    """Measure the median of each round."""
    deliveries = options.size(1_000_000, 200_000)
    readings = options.size(READINGS, 5)
    rounds: list[dict[str, Any]] = []
    rates: list[float] = []
    with ExitStack() as stack:
        site = stack.enter_context(a_site(delay_ms=CALL_MS))
        site.readers(deliveries)
        (session,) = sessions_of(site, 1)
        stack.enter_context(site.running("deliver", DELIVERY_PROCESSES=str(PROCESSES)))
        path = ""
        # The first round does not count: the workers have just begun.
        wanted = options.rounds if options.quick else options.rounds + 1
        for _ in range(2 * wanted):
            if len(rounds) == wanted:
                break
            if not site.one(WAITING):
                path = publish(site)
            began, before = time.monotonic(), site.one(ACCEPTED)
            reading_times = within(
                site, "benchmarks.programs.read_progress", session, path, str(readings)
            )
            rate = (site.one(ACCEPTED) - before) / (time.monotonic() - began)
            if not site.one(WAITING):
                say("  the send ended within the round, which is not counted")
                continue
            rounds.append(reading_times)
            rates.append(rate)
            took = statistics.median(ms for ms, *_ in reading_times["own"])
            say(f"  reading {len(rounds)}: {shown(took, 'ms')} while sending {rate:,.0f} copies/s")

    if len(rounds) < wanted:
        raise RuntimeError("The sends ended too early, so nothing was measured.")
    rounds, rates = rounds[-options.rounds :], rates[-options.rounds :]

    def median_of(name: str, kind: str, part: int) -> Measured:
        values = tuple(
            statistics.median(each[part] for each in reading_times[kind])
            for reading_times in rounds
        )
        return Measured(name, "ms", values)

    return RowResult(
        f"progress endpoint at {deliveries:,} deliveries",
        (
            Target(
                "median at most 20 ms in the view",
                median_of("one unshared reading", "own", 0),
                BOUND_MS,
                at_most=True,
            ),
        ),
        (
            median_of("the whole answer, with middleware", "own", 1),
            median_of("CPU time of the whole answer", "own", 2),
            median_of("the poll of an open page, in the view", "poll", 0),
            Measured("rate of the workers meanwhile", "copies/s", tuple(rates)),
        ),
        (
            f"{PROCESSES} worker processes send meanwhile, with {CALL_MS:g} ms a call",
            f"medians of {readings} readings a round",
        ),
    )


def publish(site: Site) -> str:
    """Publish an issue, wait until it sends, and return its progress URL."""
    before = site.one(ACCEPTED)
    issue = site.publish()
    for _ in range(round(BEGINS_WITHIN_S / 0.2)):
        if site.one(ACCEPTED) > before:
            return f"/admin/newsletters/{issue}/progress.json?version=1"
        time.sleep(0.2)
    raise RuntimeError(f"No worker began to send within {BEGINS_WITHIN_S:g} s.")


if __name__ == "__main__":
    run_alone(measure)
