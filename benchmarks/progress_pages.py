"""
What do open progress pages cost those who send?

Real workers send a letter through a provider that takes its time for each call; a real web server
answers pages that stay open and ask as `static/progress.js` does, a share of them hidden. In one
run, windows in which the pages ask and windows in which they do not take turns, first the one and
then the other, and the copies that were accepted in each are counted by the database's own clock.
What counts is the ratio within a pair. Beside it stands what the web server and its pages took of
the machine, which other programs do not disturb, and how long an answer takes in the view while the
workers send: with the books read anew each time, and for pages that share what was read within a
second, as in the web server's processes.

    .venv/bin/python -m benchmarks.progress_pages [--readers 1000000] [--workers 4] [--pages 200]
                                                  [--nice 5]
"""

from __future__ import annotations

import argparse
import json
import os
import socket
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

from benchmarks.site import ROOT, Site, a_site

SETTLING_S = 2.0
PROBES = 40
TICKS = os.sysconf("SC_CLK_TCK")

# Publishers by their group, as an author is: their permissions cost queries.
SIGN_IN = """
import json
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.auth.models import Group
from django.contrib.sessions.backends.db import SessionStore
cookies = []
for number in range(20):
    user = get_user_model().objects.create_user(f"author{number}", password=None, is_staff=True)
    user.groups.add(Group.objects.get(name="Publishers"))
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]  # the one that knows users
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    cookies.append(session.session_key)
print(json.dumps(cookies))
"""


@dataclass
class Window:
    """One stretch of time in which pages asked, or did not."""

    rate: float
    web_cpu: float
    told: dict[str, Any] = field(default_factory=dict)


@dataclass
class Bench:
    """What runs: the database, the workers, the web server and the pages."""

    site: Site
    connection: psycopg.Connection[Any]
    web: subprocess.Popen[bytes]
    pages: subprocess.Popen[str]
    seconds: float

    def window(self, *, ask: bool) -> Window:
        """Let the pages ask, or not, for so many seconds, and count what was accepted."""
        if ask:
            self.tell("on")
        time.sleep(SETTLING_S)
        began, cpu = self.clock(), cpu_s(self.web.pid)
        time.sleep(self.seconds)
        ended, web_cpu = self.clock(), cpu_s(self.web.pid) - cpu
        told = json.loads(self.tell("off", answered=True)) if ask else {}
        row = self.connection.execute(
            "SELECT coalesce(sum(accepted), 0)::float8 / extract(epoch FROM %s - %s)::float8 "
            "FROM attempt WHERE finished_at > %s AND finished_at <= %s",
            [ended, began, began, ended],
        ).fetchone()
        return Window(row[0], web_cpu / self.seconds, told)

    def clock(self) -> Any:
        return self.connection.execute("SELECT clock_timestamp()").fetchone()[0]

    def tell(self, word: str, *, answered: bool = False) -> str:
        assert self.pages.stdin is not None
        assert self.pages.stdout is not None
        self.pages.stdin.write(f"{word}\n")
        self.pages.stdin.flush()
        return self.pages.stdout.readline() if answered else ""

    def waiting(self) -> int:
        row = self.connection.execute("SELECT coalesce(sum(waiting), 0) FROM batch").fetchone()
        return int(row[0])


def cpu_s(parent: int) -> float:
    """Seconds of processor that a process and its children have taken so far."""
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
    """Send as often as it takes to have the pairs of windows that are wanted."""
    pairs: list[tuple[Window, Window]] = []
    probes: list[tuple[list[float], list[float]]] = []
    while len(pairs) < chosen.rounds:
        path = publish()
        bench.tell(path)
        began, before = time.monotonic(), bench.waiting()
        while bench.waiting() == before:
            time.sleep(0.2)
            assert time.monotonic() < began + 60, "no worker began to send"
        probes += probed(bench.site, path)
        # The pages come to know of one another before anything is counted.
        bench.tell("on")
        time.sleep(max(SETTLING_S, chosen.seconds))
        bench.tell("off", answered=True)
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
            said(len(pairs), windows[False], windows[True])
        while len(pairs) < chosen.rounds and bench.waiting():
            time.sleep(0.5)
    return summed_up(pairs, probes, chosen)


def said(number: int, without: Window, asking: Window) -> None:
    answers = ", ".join(f"{n} × {status}" for status, n in sorted(asking.told["statuses"].items()))
    print(
        f"pair {number}: {without.rate:,.0f} copies/s without, {asking.rate:,.0f} with pages "
        f"({asking.rate / without.rate:.3f}); {answers}; web server "
        f"{100 * asking.web_cpu:.1f} % of a core",
        flush=True,
    )


def summed_up(
    pairs: list[tuple[Window, Window]],
    probes: list[tuple[list[float], list[float]]],
    chosen: argparse.Namespace,
) -> dict[str, Any]:
    """The medians and their spread."""
    fresh, shared = [one for one, _ in probes], [other for _, other in probes]
    ratios = sorted(asking.rate / without.rate for without, asking in pairs)
    took = sorted(ms for _, asking in pairs for ms in asking.told["took_ms"])
    asked = [sum(asking.told["statuses"].values()) for _, asking in pairs]
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
            status: sum(a.told["statuses"].get(status, 0) for _, a in pairs)
            for status in ("200", "304")
        },
        "failures": sum(a.told["failures"] for _, a in pairs),
        "answered_ms_median": round(statistics.median(took), 1) if took else None,
        "fresh_view_ms_median": round(statistics.median(wall for wall, _ in fresh), 1),
        "fresh_view_cpu_ms_median": round(statistics.median(cpu for _, cpu in fresh), 1),
        "shared_view_ms_median": round(statistics.median(wall for wall, _ in shared), 1),
        "shared_view_cpu_ms_median": round(statistics.median(cpu for _, cpu in shared), 1),
        "load_average": round(os.getloadavg()[0], 1),
    }


def probed(site: Site, path: str) -> list[tuple[list[float], list[float]]]:
    """Milliseconds in the view and, of them, on the processor: of fresh and of shared readings."""
    output = site.manage("shell", "-c", PROBING.format(path=path, times=PROBES))
    return list(json.loads(output.splitlines()[-1]))


# The whole way through the middleware, the session and the permissions, in one process.
PROBING = """
import json, time
from django.contrib.auth import get_user_model
from django.test import Client
client = Client()
client.force_login(get_user_model().objects.get(username="author0"))
def took(path):
    began, cpu = time.perf_counter(), time.thread_time()
    answer = client.get(path, headers={{"host": "127.0.0.1"}}, secure=True)
    taken = [1000 * (time.perf_counter() - began), 1000 * (time.thread_time() - cpu)]
    assert answer.status_code == 200, answer.status_code
    time.sleep(0.1)
    return taken
pairs = [(took("{path}"), took("{path}&page=probe")) for number in range({times} + 3)]
print(json.dumps(pairs[3:]))
"""


@contextmanager
def running(*command: str, environment: dict[str, str], **options: Any) -> Iterator[Any]:
    """A process that ends with the block."""
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment, **options)
    try:
        yield process
    finally:
        if process.stdin:
            process.stdin.close()
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run(chosen: argparse.Namespace) -> dict[str, Any]:
    """Set everything up, measure, and take it down again."""
    with ExitStack() as stack:
        site = stack.enter_context(a_site(delay_ms=chosen.provider_ms))
        site.readers(chosen.readers)
        connection = stack.enter_context(site.connect())
        cookies = json.loads(site.manage("shell", "-c", SIGN_IN).splitlines()[-1])
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            web = stack.enter_context(
                running(
                    *("-m", "gunicorn", "newsletter_site.wsgi", "--worker-class", "gthread"),
                    *("--workers", "2", "--threads", "8", "--bind", f"fd://{listener.fileno()}"),
                    *("--log-level", "warning"),
                    environment=site.environment,
                    pass_fds=[listener.fileno()],
                )
            )
        pages = stack.enter_context(
            running(
                *("-m", "benchmarks.page_clients"),
                environment=site.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        plan = {
            "address": address,
            "path": "/",
            "cookies": cookies,
            "pages": chosen.pages,
            "hidden": chosen.hidden,
        }
        pages.stdin.write(json.dumps(plan) + "\n")

        def publish() -> str:
            return f"/admin/newsletters/{site.publish()}/progress.json?version=1"

        for _ in range(chosen.workers):
            stack.enter_context(site.running("deliver", DELIVERY_NICENESS=str(chosen.nice)))
        bench = Bench(site, connection, web, pages, chosen.seconds)
        return measure(bench, chosen, publish)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description="What open progress pages cost.")
    options.add_argument("--readers", type=int, default=1_000_000)
    options.add_argument("--workers", type=int, default=4)
    options.add_argument("--pages", type=int, default=200)
    options.add_argument("--rounds", type=int, default=6, help="pairs of windows")
    options.add_argument("--seconds", type=float, default=8.0, help="how long a window is")
    options.add_argument("--hidden", type=float, default=0.5, help="share of the pages")
    options.add_argument("--provider-ms", type=int, default=200)
    options.add_argument("--nice", type=int, default=5, help="DELIVERY_NICENESS of the workers")
    options.add_argument("--json", action="store_true", help="the last line is JSON")
    options.add_argument(
        "--at-least", type=float, default=0.95, help="exit 1 below this median ratio"
    )
    chosen = options.parse_args()
    found = run(chosen)
    for name, value in found.items():
        print(f"{name:24} {value}")
    if chosen.json:
        print(json.dumps(found))
    if found["ratio_median"] < chosen.at_least:
        sys.exit(f"Expected at least {chosen.at_least:g}.")


if __name__ == "__main__":
    main()
