"""
The whole stack under load, and then with a restart of each part.

PostgreSQL, PgBouncer in transaction mode, two web servers behind a proxy, four workers: what the
compose file starts, as plain processes. A large issue is sent while visitors sign up, repeat the
author's post and ask for progress; no request may fail. Then a second issue is sent while each part
is restarted; every request must be answered in the end.
"""

import html
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from benchmarks.site.sandbox_process import Sandbox, a_sandbox
from tests.deployment.deployed_processes import (
    Program,
    free_port,
    proxy,
    takes_connections,
    wait_until,
    web_server,
    worker,
)
from tests.faults.servers.pgbouncer import Pooler
from tests.faults.servers.postgres_server import OwnServer
from tests.proofs.author import LETTER, Desk, desk
from tests.proofs.environment import PASSWORD, USERNAME, ground
from tests.proofs.proof import Finding, Wish, number, say
from tests.proofs.visitors import KINDS, Known, Visitors

READERS = 500_000
READERS_QUICK = 1_500
WORKERS = 4
PER_S = 50.0
PER_S_QUICK = 12.0
CALL_TAKES_MS = 200
POOL_SIZE = 40
# How long the load continues after each restart before the next one.
BETWEEN_RESTARTS_S = 8.0
BETWEEN_RESTARTS_QUICK_S = 1.0
PATIENCE_S = 75
# Shorter than the defaults, so that the batches of a killed worker are settled within the run.
SETTINGS = {
    "DELIVERY_HTTP_DEADLINE_S": "10",
    "DELIVERY_LEASE_S": "5",
    "DELIVERY_LOOKUP_AFTER_S": "5,10,20",
    "SIGN_UP_LEAST_S": "0",
    "TRUST_PROXY": "on",
}


class Author:
    """One browser of one author, in front of the proxy."""

    def __init__(self, site: str, certificate: str) -> None:
        self._site = site
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = certificate

    def post(self, path: str, **fields: str) -> tuple[dict[str, str], str]:
        """Post the form of a page; return all its fields and the answer."""
        page = self._session.get(self._site + path, timeout=PATIENCE_S)
        page.raise_for_status()
        for name in ("csrfmiddlewaretoken", "idempotency_key"):
            if found := re.search(rf'name="{name}" value="([^"]*)"', page.text):
                fields[name] = html.unescape(found[1])
        answer = self._session.post(
            self._site + path,
            data=fields,
            timeout=PATIENCE_S,
            allow_redirects=False,
            headers={"Referer": self._site + path},
        )
        if answer.status_code not in (302, 303):
            raise RuntimeError(f"{path} was answered {answer.status_code}")
        return fields, f"{answer.status_code} {answer.headers['Location']}"

    def publish(self, title: str) -> tuple[dict[str, str], str]:
        return self.post("/admin/newsletters/", title=title, html_content=LETTER, text_content="")

    @property
    def cookies(self) -> str:
        """The session's cookies, for another client."""
        return "; ".join(f"{name}={value}" for name, value in self._session.cookies.items())


class Stack:
    """All parts, started in the order of the compose file."""

    def __init__(self, server: OwnServer, it: Desk, provider: Sandbox, folder: Path) -> None:
        self._server = server
        self.pooler = Pooler(server, pool_size=POOL_SIZE)
        self._ports = [free_port(), free_port(), free_port()]
        *web_ports, port = self._ports
        self.site = f"https://127.0.0.1:{port}"
        environment = SETTINGS | {
            "DATABASE_URL": self.pooler.url(it.database),
            "SITE_URL": self.site,
            "POSTMARK_BASE_URL": provider.url,
        }
        self.webs = [web_server(f"web-{one}", one, folder, **environment) for one in web_ports]
        self.proxy = proxy(port, web_ports, folder)
        self.certificate = str(folder / "fullchain.pem")
        self.workers = [worker(f"worker-{n}", folder, **environment) for n in range(1, WORKERS + 1)]
        self.parts = (*self.webs, self.proxy, *self.workers)

    def begin(self) -> None:
        for part in self.parts:
            part.begin()
        self.wait_until_all_are_there()

    def wait_until_all_are_there(self) -> None:
        """Wait until all servers listen and all workers run."""
        for port in self._ports:
            wait_until(lambda port=port: self._listens(port), f"port {port} accepts connections")
        for part in self.workers:
            wait_until(
                lambda part=part: part.log.read_text().count("is running") >= part.begun,
                f"{part.name} ran",
            )

    def _listens(self, port: int) -> bool:
        """Whether a port takes connections. A web server that has ended is started again."""
        # After `serve` is killed, its children may hold the port until they have ended.
        for web in self.webs:
            if not web.is_running:
                web.begin()
        return takes_connections(port)

    def end(self) -> list[int]:
        """Stop every part in order; return the exit statuses of the workers."""
        statuses = [part.end() for part in self.workers]
        for part in (self.proxy, *self.webs):
            part.end()
        return statuses

    def kill(self) -> None:
        for part in self.parts:
            if part.is_running:
                part.end(signal.SIGKILL)
        self.pooler.remove()

    def restarts(self) -> list[tuple[str, Callable[[], object]]]:
        """Return the restarts: of each part after a signal to end, or after a kill."""
        term, kill = signal.SIGTERM, signal.SIGKILL
        return [
            ("a worker, asked to end", lambda: again(term, self.workers[0])),
            ("a worker, killed", lambda: again(kill, self.workers[1])),
            ("all workers, asked to end", lambda: again(term, *self.workers)),
            ("a web server, asked to end", lambda: again(term, self.webs[0])),
            ("a web server, killed", lambda: again(kill, self.webs[1])),
            ("the proxy", lambda: again(signal.SIGQUIT, self.proxy)),
            ("the pooler, killed", self.pooler.restart),
            ("PostgreSQL, asked to end", lambda: self._restart("fast")),
            ("PostgreSQL, crashed", lambda: self._restart("immediate")),
        ]

    def _restart(self, mode: str) -> None:
        self._server.stop(mode)
        self._server.start()

    def last_lines(self) -> str:
        return "\n".join(f"{part.name}: {part.last_lines()}" for part in self.parts)


def again(signal_number: signal.Signals, *parts: Program) -> None:
    """Stop parts with a signal, and restart each as a service manager would."""
    for part in parts:
        part.end(signal_number)
        part.begin()


@contextmanager
def running(server: OwnServer, it: Desk, provider: Sandbox) -> Iterator[Stack]:
    """Start the stack; after the block, kill what still runs."""
    with tempfile.TemporaryDirectory(prefix="stack-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        stack = Stack(server, it, provider, folder)
        try:
            stack.begin()
            yield stack
        finally:
            stack.kill()


def run(wish: Wish) -> Finding:
    """Load the stack, without and then with restarts, and count."""
    readers = wish.readers_or(READERS, READERS_QUICK)
    per_s = PER_S_QUICK if wish.quick else PER_S
    between_s = BETWEEN_RESTARTS_QUICK_S if wish.quick else BETWEEN_RESTARTS_S
    finding = Finding(
        f"PostgreSQL, PgBouncer, two web servers behind nginx, {WORKERS} workers; two issues to "
        f"{number(readers)} readers under {per_s:g} requests a second (sign-ups, replays, "
        "progress), during the second each part restarted in turn"
    )
    with (
        ground() as server,
        desk(server) as it,
        a_sandbox("--latency-ms", str(CALL_TAKES_MS)) as provider,
        running(server, it, provider) as stack,
    ):
        it.confirm(readers)
        try:
            signed_up = _load(finding, stack, it, readers, per_s, between_s)
        except Exception:
            say(stack.last_lines())
            raise
        wait_until(lambda: it.open_copies() == (0, 0), "no copy was queued or unconfirmed")
        statuses = stack.end()
        finding.expect(statuses == [0] * WORKERS, f"stopped workers ended with {statuses}")
        there, mailed = it.ask(
            """
            SELECT count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE EXISTS (
                SELECT FROM delivery WHERE recipient_id = subscriber.id AND outcome = 'sent'))
            FROM subscriber WHERE email = ANY(%s)
            """,
            signed_up,
        )
        finding.expect(
            (there, mailed) == (len(signed_up), len(signed_up)),
            f"{len(signed_up)} sign-ups were answered, {there} are on record, {mailed} were mailed",
        )
        it.judge(finding, provider.summary(), 2 * readers, editions=2)
        finding.figures += [
            f"{number(2 * readers)} copies, one each",
            f"{number(len(signed_up))} sign-ups, each on record and asked by mail",
        ]
        if not finding.passed:
            say(stack.last_lines())
    return finding


def _load(
    finding: Finding, stack: Stack, it: Desk, readers: int, per_s: float, between_s: float
) -> list[str]:
    """Publish twice, then with restarts; return the addresses that signed up."""
    author = Author(stack.site, stack.certificate)
    author.post("/admin/login/", username=USERNAME, password=PASSWORD)
    form, answer = author.publish("Swifts")
    issue = it.ask("SELECT issue_id FROM edition WHERE kind = 'newsletter'")[0]
    known = Known(author.cookies, form, answer, f"/admin/newsletters/{issue}/progress.json")
    visitors = Visitors(stack.site, stack.certificate, per_s, known)
    began = time.monotonic()
    _until_sent(it, readers)
    seconds = time.monotonic() - began
    wait_until(lambda: len(visitors.answered_kinds()) == len(KINDS), "each kind was answered")
    calm = visitors.mark()
    finding.expect(not calm.failed, f"undisturbed, requests failed: {calm.failed}")
    finding.figures.append(
        f"undisturbed {calm.answered.total()} requests in {seconds:.0f} s, median "
        f"{calm.slowest_but(0.5) * 1000:.0f} ms, 99th percentile "
        f"{calm.slowest_but(0.01) * 1000:.0f} ms, longest {calm.slowest_but(0):.1f} s; "
        f"{number(readers / seconds)} copies a second meanwhile"
    )

    author.publish("More swifts")
    tries = 0

    def is_calm_after(what: str) -> bool:
        """Whether no request failed for some seconds; no visitor may give up."""
        nonlocal tries
        threading.Event().wait(between_s)
        counted = visitors.mark()
        tries += counted.failed.total()
        say(f"  {counted.answered.total()} answered, failed: {dict(counted.failed)}")
        faults = [why for why in counted.failed if why.endswith(": 500")]
        finding.expect(not faults, f"{what}: answered with a server error: {faults}")
        finding.expect(not counted.given_up, f"{what}: given up: {counted.given_up}")
        return not counted.failed

    for what, restart in stack.restarts():
        say(f"restarting {what}; {number(it.sent())} sent")
        restart()
        stack.wait_until_all_are_there()
        is_calm_after(what)
    wait_until(lambda: is_calm_after("all of them"), "nothing failed any more")
    _until_sent(it, 2 * readers)
    last = visitors.end()
    finding.expect(not last.given_up, f"given up: {last.given_up}")
    finding.expect(not last.failed, f"failed after the restarts: {last.failed}")
    others = visitors.other_answers
    finding.expect(not others, f"answered otherwise: {others[:10]}")
    finding.figures.append(
        f"{len(stack.restarts())} restarts, {tries} tries failed meanwhile and were answered later"
    )
    return visitors.signed_up


def _until_sent(it: Desk, copies: int) -> None:
    end = time.monotonic() + 600 + copies / 200
    nothing = threading.Event()
    while (sent := it.sent()) < copies:
        if time.monotonic() > end:
            raise RuntimeError(f"only {sent} of {copies} copies were sent")
        nothing.wait(0.5)
