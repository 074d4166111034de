"""
The whole stack under load, and then each part of it restarted in turn.

PostgreSQL, PgBouncer in transaction mode, two web servers behind a proxy, four workers: what the
compose file starts, as plain processes. A large issue goes out while visitors sign up, an author's
form comes again and again and pages ask how it stands; first undisturbed, when nothing may fail,
then a second issue with one restart after another, when everything must be answered in the end.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from newsletter_site.embedded_postgres.cluster import Cluster
from tests.faults.pooler import Pooler
from tests.own_cluster import ROOT
from tests.soak.desk import LETTER, Desk
from tests.soak.finding import Finding, Wish, number, say
from tests.soak.ground import Ground, ground, manage
from tests.soak.providers import Sandbox, sandbox
from tests.stack.author import Author
from tests.stack.parts import (
    Postgres,
    Program,
    free_port,
    proxy,
    takes_connections,
    wait_until,
    web_server,
    worker,
)

READERS = 500_000
READERS_QUICK = 1_500
WORKERS = 4
PER_S = 50.0
PER_S_QUICK = 12.0
CALL_TAKES_MS = 200
POOL_SIZE = 40
# How long the load goes on after each restart before the next one.
BETWEEN_RESTARTS_S = 8.0
BETWEEN_RESTARTS_QUICK_S = 1.0
# Shorter than the defaults, so that what a killed worker held is settled within the run.
SETTINGS = {
    "DELIVERY_HTTP_DEADLINE_S": "10",
    "DELIVERY_LEASE_S": "5",
    "DELIVERY_LOOKUP_AFTER_S": "5,10,20",
    "PUBLISH_HOLD_S": "0",
    "SIGN_UP_LEAST_S": "0",
    "TRUST_PROXY": "on",
}
USERNAME = "anna"
PASSWORD = "a long password of no worth 1789"


@dataclass(frozen=True)
class BehindThePooler:
    """The server that the pooler hands out sessions of."""

    cluster: Cluster
    password: str = "never-asked-for"


class Visiting:
    """The program of the visitors, from its begin to its last word."""

    def __init__(self, site: str, certificate: str, per_s: float, known: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.stack.visitors", site, certificate, str(per_s)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._say(json.dumps(known))

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _heard(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        heard: dict[str, Any] = json.loads(self._process.stdout.readline())
        return heard

    def mark(self) -> dict[str, Any]:
        """What was counted since the last mark."""
        self._say("mark")
        return self._heard()

    def end(self) -> dict[str, Any]:
        """The last count, with the addresses that signed up."""
        self._say("end")
        try:
            return self._heard()
        finally:
            self._process.wait(60)

    def kill(self) -> None:
        """For a run that broke off."""
        self._process.kill()
        self._process.wait(60)


class Stack:
    """All parts, begun in the order of the compose file."""

    def __init__(self, stage: Ground, url: str, provider: Sandbox, folder: Path) -> None:
        self.postgres = Postgres(stage.cluster)
        self.pooler = Pooler(BehindThePooler(stage.cluster), pool_size=POOL_SIZE)
        ports = [free_port(), free_port()]
        self._port = free_port()
        self._ports = ports
        self.site = f"https://127.0.0.1:{self._port}"
        environment = SETTINGS | {
            "DATABASE_URL": self.pooler.url(url),
            "SITE_URL": self.site,
            "POSTMARK_BASE_URL": provider.url,
        }
        self.webs = [
            web_server(f"web-{n}", port, folder, **environment) for n, port in enumerate(ports, 1)
        ]
        self.proxy = proxy(self._port, ports, folder)
        self.certificate = str(folder / "fullchain.pem")
        self.workers = [worker(f"worker-{n}", folder, **environment) for n in range(1, WORKERS + 1)]

    def begin(self) -> None:
        """Begin whatever is not running."""
        for part in (*self.webs, self.proxy, *self.workers):
            part.begin()
        for port in (*self._ports, self._port):
            wait_until(lambda port=port: takes_connections(port), f"port {port} was listened on")

    def end(self) -> list[int]:
        """End everything in good order; the exit statuses of the workers."""
        statuses = [part.end() for part in self.workers]
        for part in (self.proxy, *self.webs):
            part.end()
        self.pooler.remove()
        return statuses

    def kill(self) -> None:
        """End whatever is left of a run that broke off."""
        for part in (*self.workers, self.proxy, *self.webs):
            if part.is_running:
                part.end(signal.SIGKILL)

    def restarts(self) -> list[tuple[str, Callable[[], object]]]:
        """Each part in turn, in good order and, where it can be, without warning."""
        return [
            ("a worker, asked to end", lambda: again(self.workers[0], signal.SIGTERM)),
            ("a worker, killed", lambda: again(self.workers[1], signal.SIGKILL)),
            ("all workers, asked to end", self._all_workers),
            ("a web server, asked to end", lambda: again(self.webs[0], signal.SIGTERM)),
            ("a web server, killed", lambda: again(self.webs[1], signal.SIGKILL)),
            ("the proxy", lambda: again(self.proxy, signal.SIGQUIT)),
            ("the pooler, killed", self.pooler.restart),
            ("PostgreSQL, in good order", lambda: self.postgres.restart("fast")),
            ("PostgreSQL, crashed", lambda: self.postgres.restart("immediate")),
        ]

    def _all_workers(self) -> None:
        for part in self.workers:
            again(part, signal.SIGTERM)

    def last_words(self) -> str:
        """What its parts said last."""
        parts = (*self.webs, self.proxy, *self.workers)
        return "\n".join(f"{part.name}: {part.last_words()}" for part in parts)


def again(part: Program, number: signal.Signals) -> None:
    """End a part with a signal, and begin it anew as a service manager would."""
    part.end(number)
    part.begin()


@contextmanager
def standing(stage: Ground, url: str, provider: Sandbox) -> Iterator[Stack]:
    """The stack, begun; whatever is left of it at the end is ended."""
    with tempfile.TemporaryDirectory(prefix="stack-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        stack = Stack(stage, url, provider, folder)
        try:
            stack.begin()
            yield stack
        finally:
            stack.kill()


def run(wish: Wish) -> Finding:
    """Load the stack, undisturbed and then with restarts, and count."""
    readers = wish.readers_or(READERS, READERS_QUICK)
    per_s = PER_S_QUICK if wish.quick else PER_S
    between_s = BETWEEN_RESTARTS_QUICK_S if wish.quick else BETWEEN_RESTARTS_S
    finding = Finding(
        f"PostgreSQL, PgBouncer, two web servers behind nginx, {WORKERS} workers; two issues to "
        f"{number(readers)} readers under {per_s:g} requests a second (sign-ups, replays, "
        "progress), during the second each part restarted in turn"
    )
    with ExitStack() as stack_of_things:
        enter = stack_of_things.enter_context
        stage = enter(ground())
        url = enter(stage.database("stack"))
        desk = enter(closing(Desk(url)))
        desk.confirm(readers)
        account = ("--username", USERNAME, "--email", "anna@example.org")
        manage(url, "createsuperuser", "--noinput", *account, DJANGO_SUPERUSER_PASSWORD=PASSWORD)
        provider = enter(sandbox("--latency-ms", str(CALL_TAKES_MS)))
        stack = enter(standing(stage, "stack", provider))
        try:
            _work(finding, stack, desk, url, provider, readers, per_s, between_s)
        except Exception:
            say(stack.last_words())
            raise
        if not finding.passed:
            finding.short.append(f"Last words:\n{stack.last_words()}")
    return finding


def _work(
    finding: Finding,
    stack: Stack,
    desk: Desk,
    url: str,
    provider: Sandbox,
    readers: int,
    per_s: float,
    between_s: float,
) -> None:
    author = Author(stack.site, stack.certificate)
    author.sign_in(USERNAME, PASSWORD)
    form = author.publish("Swifts", LETTER)
    issue = str(desk.ask("SELECT issue_id FROM edition WHERE kind = 'newsletter'")[0])
    visiting = Visiting(stack.site, stack.certificate, per_s, author.knows(form, issue))
    try:
        began = time.monotonic()
        _until_sent(desk, visiting, readers)
        _judge_calm(finding, visiting.mark(), desk, time.monotonic() - began, readers)

        author.publish("More swifts", LETTER)
        tries = 0
        for what, restart in stack.restarts():
            say(f"restarting {what}; {number(_sent(desk))} sent")
            restart()
            threading.Event().wait(between_s)
            counted = visiting.mark()
            tries += sum(counted["failed"].values())
            faults = [why for why in counted["failed"] if why.endswith(": 500")]
            finding.expect(not faults, f"{what}: answered as a fault of the site: {faults}")
            say(f"  {sum(counted['answered'].values())} answered, failed: {counted['failed']}")
            finding.expect(not counted["given_up"], f"{what}: given up: {counted['given_up']}")
        desk.again(url)
        _until_sent(desk, visiting, 2 * readers)
        last = visiting.end()
    except BaseException:
        visiting.kill()
        raise
    finding.expect(not last["given_up"], f"given up: {last['given_up']}")
    finding.expect(not last["failed"], f"after the restarts failed: {last['failed']}")
    finding.expect(not last["other_answers"], f"answered otherwise: {last['other_answers']}")
    _judge(finding, stack, desk, provider, readers, last["signed_up"])
    finding.figures.append(
        f"{len(stack.restarts())} restarts, {tries} tries failed meanwhile and were answered later"
    )


def _sent(desk: Desk) -> int:
    """How many copies of newsletters are settled as sent; the session may have been cut."""
    try:
        return _sent_of(desk, "newsletter")
    except Exception:  # noqa: BLE001 -- whatever cut the line: it is opened again
        desk.again(desk.url)
        return _sent_of(desk, "newsletter")


def _sent_of(desk: Desk, kind: str) -> int:
    query = """SELECT coalesce(sum(sent), 0) FROM batch
               JOIN edition ON edition.id = edition_id WHERE kind = %s"""
    return int(desk.ask(query, kind)[0])


def _until_sent(desk: Desk, visiting: Visiting, copies: int) -> None:
    said_at = time.monotonic()
    end = said_at + 600 + copies / 200
    nothing = threading.Event()
    while (sent := _sent(desk)) < copies:
        if time.monotonic() > end:
            raise RuntimeError(f"only {sent} of {copies} copies were sent")
        if time.monotonic() - said_at > 20:
            said_at = time.monotonic()
            say(f"{number(sent)} of {number(copies)} sent")
        nothing.wait(0.5)


def _judge_calm(
    finding: Finding, counted: dict[str, Any], desk: Desk, seconds: float, readers: int
) -> None:
    """Nothing may fail while nothing is disturbed."""
    answered = counted["answered"]
    finding.expect(not counted["failed"], f"undisturbed, requests failed: {counted['failed']}")
    finding.expect(len(answered) == 3, f"undisturbed, of three kinds only these came: {answered}")
    finding.figures.append(
        f"undisturbed {number(sum(answered.values()))} requests in {seconds:.0f} s, "
        f"{sum(counted['failed'].values())} failed, median {counted['median_s'] * 1000:.0f} ms, "
        f"99th percentile {counted['p99_s'] * 1000:.0f} ms, longest {counted['longest_s']:.1f} s"
    )
    finding.figures.append(f"{number(readers / seconds)} copies a second meanwhile")


def _judge(
    finding: Finding,
    stack: Stack,
    desk: Desk,
    provider: Sandbox,
    readers: int,
    signed_up: list[str],
) -> None:
    """Compare what was answered, what the books say and what the provider accepted."""
    wait_until(lambda: desk.open_copies() == (0, 0), "nothing waited and nothing was in doubt")
    statuses = stack.end()
    finding.expect(statuses == [0] * WORKERS, f"stopped workers ended with {statuses}")
    editions = desk.ask("SELECT count(*) FROM edition WHERE kind = 'newsletter'")[0]
    finding.expect(editions == 2, f"there are {editions} editions, not 2")
    there = desk.ask(
        "SELECT count(*) FROM subscriber WHERE email = ANY(%s) AND state = 'pending'", signed_up
    )[0]
    finding.expect(
        there == len(signed_up), f"{len(signed_up)} sign-ups were answered, {there} are on record"
    )
    mailed = desk.ask(
        """
        SELECT count(DISTINCT recipient_id) FROM delivery
        JOIN subscriber ON subscriber.id = recipient_id
        WHERE subscriber.email = ANY(%s) AND outcome = 'sent'
        """,
        signed_up,
    )[0]
    finding.expect(mailed == len(signed_up), f"{mailed} of {len(signed_up)} were asked by mail")
    outbox = provider.summary()
    for count in ("deliveries_with_more_than_one_copy", "readers_with_two_of_one_edition"):
        finding.expect(outbox[count] == 0, f"the provider's {count} is {outbox[count]}, not 0")
    copies = _sent_of(desk, "newsletter")
    finding.expect(copies == 2 * readers, f"{copies} copies of {2 * readers} were sent")
    finding.expect(desk.alarms() == 0, f"{desk.alarms()} alarms were raised")
    breaches = desk.audit()
    finding.expect(not breaches, f"the audit says: {breaches}")
    finding.figures += [
        f"{number(copies)} copies, one each",
        f"{number(len(signed_up))} sign-ups, each on record and asked by mail",
    ]
