"""What do open progress pages cost the workers?

Real workers send a letter through a provider with slow calls. A real web server answers open pages,
which poll as htmx does; a share of them is hidden. Windows with and without polling alternate in
one run, and the database's clock counts the accepted copies in each. The figure is the ratio within
a pair of windows. A further figure is the web server's CPU time, which other programs do not
disturb. `benchmarks.rows.progress` measures the duration of a reading.

    .venv/bin/python -m benchmarks.studies.progress_pages [--readers 1000000] [--workers 4] \
        [--pages 200] [--nice 5]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.frame import at_least_one, end_in_good_order
from benchmarks.programs.sign_in import sessions_of
from benchmarks.site.site import ROOT, Site, a_site
from benchmarks.site.web_server import WebServer, a_web_server

SETTLING_S = 2.0
AUTHORS = 20
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Window:
    """Period in which pages polled, or did not."""

    rate: float
    web_cpu: float
    result: dict[str, Any] = field(default_factory=dict)


@dataclass
class Bench:
    """The running parts: database, workers, web server and pages."""

    connection: psycopg.Connection[Any]
    web: WebServer
    pages: subprocess.Popen[str]
    seconds: float

    def window(self, *, ask: bool) -> Window:
        """Turn polling on or off for `seconds` seconds; count the accepted copies."""
        if ask:
            self.command("on")
        time.sleep(SETTLING_S)
        began, cpu = self.clock(), cpu_s(self.web.pid)
        time.sleep(self.seconds)
        ended, web_cpu = self.clock(), cpu_s(self.web.pid) - cpu
        result = json.loads(self.command("off", answered=True)) if ask else {}
        row = self.connection.execute(
            "SELECT coalesce(sum(accepted), 0)::float8 / extract(epoch FROM %s - %s)::float8 "
            "FROM attempt WHERE finished_at > %s AND finished_at <= %s",
            [ended, began, began, ended],
        ).fetchone()
        return Window(row[0], web_cpu / self.seconds, result)

    def clock(self) -> Any:
        return self.connection.execute("SELECT clock_timestamp()").fetchone()[0]

    def command(self, word: str, *, answered: bool = False) -> str:
        assert self.pages.stdin is not None
        assert self.pages.stdout is not None
        self.pages.stdin.write(f"{word}\n")
        self.pages.stdin.flush()
        return self.pages.stdout.readline() if answered else ""

    def waiting(self) -> int:
        row = self.connection.execute("SELECT coalesce(sum(waiting), 0) FROM batch").fetchone()
        return int(row[0])


def cpu_s(parent: int) -> float:
    """Return the CPU seconds of a process and its children so far."""
    total = 0.0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(entry.name) == parent or int(fields[1]) == parent:
            total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def measure(bench: Bench, chosen: argparse.Namespace, publish: Callable[[], str]) -> dict[str, Any]:
    """Send repeatedly until all pairs of windows are measured."""
    pairs: list[tuple[Window, Window]] = []
    while len(pairs) < chosen.rounds:
        path = publish()
        bench.command(path)
        began, before = time.monotonic(), bench.waiting()
        while bench.waiting() == before:
            time.sleep(0.2)
            assert time.monotonic() < began + 60, "no worker began to send"
        # The pages register with one another before the count begins.
        bench.command("on")
        time.sleep(max(SETTLING_S, chosen.seconds))
        bench.command("off", answered=True)
        rate = 0.0
        while len(pairs) < chosen.rounds:
            if bench.waiting() < 2.6 * rate * (chosen.seconds + SETTLING_S):
                break
            order = (False, True) if len(pairs) % 2 == 0 else (True, False)
            windows = {ask: bench.window(ask=ask) for ask in order}
            if bench.waiting() == 0:
                break  # the send ended within the pair
            rate = windows[False].rate
            pairs.append((windows[False], windows[True]))
            print_pair(len(pairs), windows[False], windows[True])
        while len(pairs) < chosen.rounds and bench.waiting():
            time.sleep(0.5)
    return summed_up(pairs, chosen)


def print_pair(number: int, without: Window, asking: Window) -> None:
    answers = ", ".join(
        f"{n} × {status}" for status, n in sorted(asking.result["statuses"].items())
    )
    print(
        f"pair {number}: {without.rate:,.0f} copies/s without, {asking.rate:,.0f} with pages "
        f"({asking.rate / without.rate:.3f}); {answers}; web server "
        f"{100 * asking.web_cpu:.1f} % of a core",
        flush=True,
    )


def summed_up(pairs: list[tuple[Window, Window]], chosen: argparse.Namespace) -> dict[str, Any]:
    """Summarise the medians and their spread."""
    ratios = sorted(asking.rate / without.rate for without, asking in pairs)
    took = sorted(ms for _, asking in pairs for ms in asking.result["took_ms"])
    asked = [sum(asking.result["statuses"].values()) for _, asking in pairs]
    return {
        "readers": chosen.readers,
        "workers": chosen.workers,
        "nice": chosen.nice,
        "pages": chosen.pages,
        "hidden": chosen.hidden,
        "provider_ms": chosen.provider_ms,
        "pairs": len(pairs),
        "copies_per_s_without": round(statistics.median(w.rate for w, _ in pairs)),
        "copies_per_s_with": round(statistics.median(a.rate for _, a in pairs)),
        "ratio_median": round(statistics.median(ratios), 3),
        "ratio_least": round(ratios[0], 3),
        "ratio_most": round(ratios[-1], 3),
        "web_share_of_a_core": round(statistics.median(a.web_cpu for _, a in pairs), 3),
        "cores": os.cpu_count(),
        "asked_per_s": round(statistics.median(asked) / (chosen.seconds + SETTLING_S), 1),
        "answers": {
            status: sum(a.result["statuses"].get(status, 0) for _, a in pairs)
            for status in ("200", "304")
        },
        "failures": sum(a.result["failures"] for _, a in pairs),
        "answered_ms_median": round(statistics.median(took), 1) if took else None,
        "load_average": round(os.getloadavg()[0], 1),
    }


@contextmanager
def open_pages(site: Site) -> Iterator[subprocess.Popen[str]]:
    """Run the process that holds the pages for the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.programs.page_clients"],
        cwd=ROOT,
        env=site.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def run(chosen: argparse.Namespace) -> dict[str, Any]:
    """Set everything up, measure, and take it down again."""
    with ExitStack() as stack:
        site = stack.enter_context(a_site(delay_ms=chosen.provider_ms))
        site.readers(chosen.readers)
        connection = stack.enter_context(site.connect())
        server = stack.enter_context(a_web_server(site))
        pages = stack.enter_context(open_pages(site))
        plan = {
            "address": server.address,
            "path": "/",
            "cookies": sessions_of(site, AUTHORS),
            "pages": chosen.pages,
            "hidden": chosen.hidden,
        }
        assert pages.stdin is not None
        pages.stdin.write(json.dumps(plan) + "\n")

        def publish() -> str:
            return f"/admin/newsletters/{site.publish()}/?version=1"

        settings = {
            "DELIVERY_PROCESSES": str(chosen.workers),
            "DELIVERY_NICENESS": str(chosen.nice),
        }
        stack.enter_context(site.running("deliver", **settings))
        bench = Bench(connection, server, pages, chosen.seconds)
        return measure(bench, chosen, publish)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description="Measure the cost of open progress pages.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    options.add_argument(
        "--readers", type=at_least_one, default=1_000_000, help="readers of the issue"
    )
    options.add_argument(
        "--workers", type=at_least_one, default=4, help="number of worker processes"
    )
    options.add_argument("--pages", type=at_least_one, default=200, help="number of open pages")
    options.add_argument("--rounds", type=at_least_one, default=6, help="pairs of windows")
    options.add_argument("--seconds", type=float, default=8.0, help="seconds of each window")
    options.add_argument("--hidden", type=float, default=0.5, help="share of pages that are hidden")
    options.add_argument("--provider-ms", type=int, default=200, help="milliseconds of each call")
    options.add_argument("--nice", type=int, default=5, help="DELIVERY_NICENESS of the workers")
    options.add_argument("--json", action="store_true", help="print JSON as the last line")
    options.add_argument(
        "--at-least", type=float, default=0.95, help="exit 1 below this median ratio"
    )
    chosen = options.parse_args()
    end_in_good_order()
    found = run(chosen)
    for name, value in found.items():
        print(f"{name:24} {value}")
    if chosen.json:
        print(json.dumps(found))
    if found["ratio_median"] < chosen.at_least:
        sys.exit(f"Expected at least {chosen.at_least:g}.")


if __name__ == "__main__":
    main()
