"""How long does the progress endpoint take at a million deliveries?

One real `deliver` with four processes sends to a million readers, and the provider takes 200 ms per
call. The worker keeps both cores of a small machine busy. Another process requests the page's
counts forty times a round through the site's own WSGI application. The time begins after the
middleware, but it includes the queries for the session, the user and the permissions. The whole
answer is a further figure. The target is for a request that reads fresh counts from the database.
Pages that are open in the same web process share the counts for a second; the time with shared
counts is a further figure.
"""

import statistics
import time
from contextlib import ExitStack
from functools import wraps
from typing import Any

from benchmarks.frame import Measured, Options, RowResult, at_most, say, shown
from benchmarks.site.browser import InProcess, sessions_of
from benchmarks.site.site import Site, a_site
from benchmarks.site.within_site import begin, within

PROCESSES, CALL_MS, READINGS = 4, 200.0, 40
BEGINS_WITHIN_S = 60.0
WARMING_UP = 3
REST_S = 0.1  # pause between two requests, so that the workers keep the processor
WAITING = "SELECT coalesce(sum(waiting), 0)::bigint FROM batch"
ACCEPTED = "SELECT coalesce(sum(accepted), 0)::bigint FROM attempt"


def measure(options: Options) -> RowResult:
    """Measure the median time of a request in each round."""
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
        # Add one round, because the first one does not count: the workers have just begun.
        wanted = options.rounds if options.quick else options.rounds + 1
        for _ in range(2 * wanted):
            if len(rounds) == wanted:
                break
            if not site.one(WAITING):
                path = publish(site)
            began, before = time.monotonic(), site.one(ACCEPTED)
            reading_times = within(site, read_progress, session, path, readings)
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
            at_most(
                "median at most 20 ms in the view", median_of("one unshared reading", "own", 0), 20
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
    """Publish an issue, wait until it is being sent, and return its progress URL."""
    before = site.one(ACCEPTED)
    issue = site.publish()
    for _ in range(round(BEGINS_WITHIN_S / 0.2)):
        if site.one(ACCEPTED) > before:
            return f"/admin/newsletters/{issue}/progress.json?version=1"
        time.sleep(0.2)
    raise RuntimeError(f"No worker began to send within {BEGINS_WITHIN_S:g} s.")


def read_progress(session: str, path: str, times: int) -> dict[str, list[Any]]:
    """Request `progress.json` and the update of an open page, alternately.

    For each of the two requests, return milliseconds: the time in the view, the time of the whole
    answer, and the CPU time. The view begins after the middleware; its time includes the queries
    for the user and the user's permissions.
    """
    begin()
    timed = {name: timed_view(name) for name in ("progress_json", "progress")}
    from newsletter_site.wsgi import application

    browser = InProcess(application, session)

    def read(view: str, address: str) -> tuple[float, float, float]:
        began_s = time.thread_time()
        page = (browser.get if view == "progress_json" else browser.poll)(address)
        on_processor_s = time.thread_time() - began_s
        assert page.status == 200, page
        assert b"audience" in page.body.lower(), page
        time.sleep(REST_S)
        return 1000 * timed[view].pop(), 1000 * page.took_s, 1000 * on_processor_s

    polled = path.replace("progress.json", "")
    both = [
        (read("progress_json", path), read("progress", polled)) for _ in range(WARMING_UP + times)
    ]
    own, poll = zip(*both[WARMING_UP:], strict=True)
    return {"own": list(own), "poll": list(poll)}


def timed_view(name: str) -> list[float]:
    """Time the desk's view of this name; return a list of seconds, one per call."""
    from publishing.urls import urlpatterns

    (pattern,) = (each for each in urlpatterns if each.name == name)
    view, seconds = pattern.callback, []

    @wraps(view)
    def timed(*args: Any, **named: Any) -> Any:
        began = time.perf_counter()
        answer = view(*args, **named)
        seconds.append(time.perf_counter() - began)
        return answer

    pattern.callback = timed
    return seconds
