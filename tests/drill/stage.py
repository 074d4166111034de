"""
The stage of a drill: a PostgreSQL cluster, a sandbox, the site under gunicorn, workers, and a real
Prometheus with the real rules, all on loopback and gone at the end.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import requests
import yaml
from psycopg import sql

from postmark_sandbox.server import SandboxServer
from tests.drill.runbook import ROOT, typed_in
from tests.faults.own_server import OwnServer

# Every time in the rules is divided by this: `for`, ranges, and ages that are compared with.
FACTOR = 60
# Prometheus sends no word when an alert fires: it has to be asked.
LOOK_EVERY_S = 0.2
PATIENCE_S = 120
TOKEN = "the token of a drill"
WEBHOOK = ("postmark", "long and random")

# What the processes of a drill are started with beside the defaults, and why: the page lists it.
# A call's deadline and the lease are longer than a sixtieth, for a machine that is busy; the
# pauses between tries and look-ups are a sixtieth. The list is of twenty readers, so batches are of
# two and a surge begins with two. Faults last longer than ten tries take.
SETTINGS = {
    "DELIVERY_HTTP_DEADLINE_S": "3",
    "DELIVERY_LEASE_S": "2",
    "DELIVERY_LOOKUP_AFTER_S": "1,5,15",
    "DELIVERY_RETRY_BASE_S": "0.083",
    "DELIVERY_RETRY_CAP_S": "15",
    "DELIVERY_BATCH_SIZE": "2",
    "DELIVERY_MAX_ATTEMPTS": "1000",
    "DELIVERY_SURGE_BOUNCES_LEAST": "2",
    "PUBLISH_HOLD_S": "0",
}


class NotInTimeError(Exception):
    """Something that was waited for did not come."""


def shortened(rules: dict[str, Any]) -> dict[str, Any]:
    """The rules with every time divided by FACTOR; nothing else of them is changed."""

    def a_range(match: re.Match[str]) -> str:
        return f"[{_seconds(match[1])}]"

    for rule in rules["groups"][0]["rules"]:
        rule["for"] = _seconds(rule["for"])
        expression = re.sub(r"\[(\w+)\]", a_range, rule["expr"])
        rule["expr"] = re.sub(
            r"(_seconds\)) > (\d+)",
            lambda match: f"{match[1]} > {int(match[2]) / FACTOR:g}",
            expression,
        )
    return rules


def _seconds(span: str) -> str:
    number, unit = re.fullmatch(r"(\d+)([smh])", span).groups()  # type: ignore[union-attr]
    seconds = int(number) * {"s": 1, "m": 60, "h": 3600}[unit]
    return f"{seconds * 1000 // FACTOR}ms"


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass
class Typed:
    """A line of the runbook that was typed, and how it ended."""

    line: str
    ended: str


@dataclass
class Stage:
    """All of it, and the verbs of the drill."""

    server: OwnServer
    database: str
    sandbox: SandboxServer
    folder: Path
    site_port: int = field(default_factory=free_port)
    prometheus_port: int = field(default_factory=free_port)
    site: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    typed: list[Typed] = field(default_factory=list)

    # --- Its parts ------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where the site is."""
        return f"http://127.0.0.1:{self.site_port}"

    def environment(self, **more: str) -> dict[str, str]:
        """What every process of ours is started with."""
        return (
            os.environ
            | SETTINGS
            | {
                "DATABASE_URL": self.server.url(self.database),
                "POSTMARK_BASE_URL": self.sandbox.url,
                "POSTMARK_SERVER_TOKEN": "sandbox",
                "POSTMARK_WEBHOOK_USER": WEBHOOK[0],
                "POSTMARK_WEBHOOK_PASSWORD": WEBHOOK[1],
                "METRICS_TOKEN": TOKEN,
                "TRUST_PROXY": "on",
            }
            | more
        )

    def dump(self) -> None:
        """As docs/restore.md has it."""
        self._at_the_server("pg_dump", "--format=custom", f"--file={self.folder / 'dump'}")

    def restore_into_a_new_database(self) -> None:
        """As docs/restore.md has it; from now on everything that is started works on that one."""
        self.database = f"restored_{time.monotonic_ns()}"
        with self.server.admin() as admin:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self.database)))
        self._at_the_server(
            "pg_restore", "--exit-on-error", "--no-owner", str(self.folder / "dump")
        )

    def _at_the_server(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [
                str(self.server.cluster.binaries / program),
                f"--dbname={self.server.url(self.database)}",
                *arguments,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise NotInTimeError(f"{program} failed: {done.stderr[-500:]}")

    def start_site(self, **more: str) -> None:
        """As deploy/gunicorn.conf.py has it, and wait until it answers."""
        self.site = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "--config", "deploy/gunicorn.conf.py"),
                *("--bind", f"127.0.0.1:{self.site_port}", "--workers", "1"),
            ],
            cwd=ROOT,
            env=self.environment(**more),
            stdout=self._log("site"),
            stderr=subprocess.STDOUT,
        )
        self.until(lambda: self._answers("/health/live/"), "the site answers")

    def stop_site(self) -> None:
        """SIGTERM, and wait."""
        if self.site is not None:
            self.site.terminate()
            self.site.wait(60)

    def _answers(self, path: str) -> bool:
        try:
            return requests.get(self.url + path, timeout=5).status_code == 200
        except requests.RequestException:
            return False

    def start_worker(self, **more: str) -> subprocess.Popen[bytes]:
        """One more `./homing deliver`."""
        worker = subprocess.Popen(
            [sys.executable, "manage.py", "deliver"],
            cwd=ROOT,
            env=self.environment(**more),
            stdout=self._log("workers"),
            stderr=subprocess.STDOUT,
        )
        self.workers.append(worker)
        return worker

    def stop_workers(self, number: signal.Signals = signal.SIGTERM) -> None:
        """All of them, and wait."""
        for worker in self.workers:
            worker.send_signal(signal.SIGCONT)
            worker.send_signal(number)
        for worker in self.workers:
            worker.wait(60)
        self.workers.clear()

    def start_prometheus(self) -> subprocess.Popen[bytes]:
        """With the example's configuration: other targets, other intervals, the rules shortened."""
        source = ROOT / "deploy" / "prometheus"
        configuration = yaml.safe_load((source / "prometheus.yml").read_text())
        configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        for job in configuration["scrape_configs"]:
            job["static_configs"] = [{"targets": [f"127.0.0.1:{self.site_port}"]}]
            if "authorization" in job:
                job["authorization"]["credentials_file"] = str(self.token_file)
        rules = shortened(yaml.safe_load((source / "alerts.yml").read_text()))
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
        (self.folder / "alerts.yml").write_text(yaml.safe_dump(rules))
        self.token_file.write_text(TOKEN)
        return subprocess.Popen(
            [
                "prometheus",
                f"--config.file={self.folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={self.folder / 'series'}",
                f"--web.listen-address=127.0.0.1:{self.prometheus_port}",
            ],
            stdout=self._log("prometheus"),
            stderr=subprocess.STDOUT,
        )

    @property
    def token_file(self) -> Path:
        """From which Prometheus reads its token at every scrape."""
        return self.folder / "token"

    def _log(self, name: str) -> Any:
        return (self.folder / f"{name}.log").open("ab")

    # --- Looking --------------------------------------------------------------------------------

    def until(self, so: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> float:
        """Look until it is so; the seconds that it took."""
        began = time.monotonic()
        nothing = threading.Event()
        while not so():
            if time.monotonic() - began > patience_s:
                raise NotInTimeError(f"it did not come to pass within {patience_s:g} s that {what}")
            nothing.wait(LOOK_EVERY_S)
        return time.monotonic() - began

    def firing(self) -> set[str]:
        """The alerts that fire now."""
        try:
            answer = requests.get(
                f"http://127.0.0.1:{self.prometheus_port}/api/v1/alerts", timeout=10
            ).json()
        except requests.RequestException:
            return set()
        return {
            alert["labels"]["alertname"]
            for alert in answer["data"]["alerts"]
            if alert["state"] == "firing"
        }

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a statement answers, in the drill's database."""
        with psycopg.connect(self.server.url(self.database), autocommit=True) as connection:
            done = connection.execute(statement, values or None)  # type: ignore[call-overload]
            return done.fetchall() if done.description else []

    # --- Doing ----------------------------------------------------------------------------------

    def manage(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """A command of ours, to its end."""
        return subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.environment(**more),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )

    def publish(self, title: str, *, hold_s: float = 0, **more: str) -> str:
        """An issue for everybody on the list; its id."""
        html = self.folder / "letter.html"
        html.write_text("<p>Dear {{ name|reader }}</p>")
        done = self.manage(
            *("publish", "--title", title, "--html-file", str(html), "--hold", str(hold_s)),
            **more,
        )
        if done.returncode:
            raise NotInTimeError(f"publish failed: {done.stderr[-500:]}")
        return str(yaml.safe_load(done.stdout.strip().splitlines()[-1])["issue"])

    def tell(self, event: dict[str, Any]) -> int:
        """Post a webhook as Postmark does; the status of the answer."""
        headers = {
            "Host": "letter.example.org",
            "X-Forwarded-Proto": "https",
            "X-PM-Webhook-Trace-Id": f"drill-{time.monotonic_ns()}",
        }
        return requests.post(
            f"{self.url}/webhooks/postmark/", json=event, auth=WEBHOOK, headers=headers, timeout=30
        ).status_code

    def type(self, alert: str, **values: str) -> None:
        """Type what the runbook says for an alert, with what stands for its words in capitals."""
        for language, line in typed_in(alert):
            said = line
            for word, value in values.items():
                said = re.sub(rf"\b{word}\b", value, said)
            if language == "sql":
                found = self.sql(said)
                if "PID" in line or "pid," not in line:
                    ended = "done"
                else:
                    ended = f"{len(found)} row"
                    values["PID"] = str(found[0][0])
            elif said.startswith("./homing deliver"):
                self.start_worker()
                ended = "a worker runs"
            elif said.startswith("./homing "):
                done = self.manage(*said.split()[1:])
                ended = f"exit {done.returncode}"
            else:
                ended = self._in_a_shell(said)
            self.typed.append(Typed(line, ended))

    def _in_a_shell(self, line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line.replace(":8000/", f":{self.site_port}/")],
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.stdout.strip() or f"exit {done.returncode}"


@contextmanager
def stage() -> Iterator[Stage]:
    """Everything up, with an author and some readers; nothing of it is left at the end."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="homing-drill-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        server = OwnServer()
        stack.callback(server.remove)
        database = stack.enter_context(server.fresh_database())
        it = Stage(server, database, stack.enter_context(SandboxServer()), folder)
        author = ("--username", "author", "--email", "author@example.org")
        it.manage("createsuperuser", "--noinput", *author)
        readers = folder / "readers.csv"
        readers.write_text("email\n" + "".join(f"reader{n}@example.net\n" for n in range(20)))
        it.manage("import_subscribers", str(readers), "--confirmed")
        stack.callback(it.stop_site)
        it.start_site()
        prometheus = it.start_prometheus()
        stack.callback(_end, prometheus)
        stack.callback(it.stop_workers, signal.SIGKILL)
        it.until(lambda: not it.firing() and it.sql("SELECT 1") == [(1,)], "all is quiet")
        yield it


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(30)
        return
    process.kill()
