"""Environment of a drill: site, workers, sandbox and Prometheus on loopback.

It includes a PostgreSQL server and the web server. Prometheus is real and uses the real rules.
Everything is removed at the end.
"""

import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import requests
import yaml

from postmark_sandbox.server import SandboxServer
from tests.deployment.deployed_processes import Program, free_port, web_server, worker
from tests.faults.servers.postgres_server import OwnServer
from tests.postgres_cluster import ROOT
from tests.proofs.environment import manage
from tests.proofs.proof import say

# Every time in the rules is divided by this: `for`, ranges, and compared ages.
FACTOR = 60
# Prometheus does not announce that an alert fires: it must be polled.
LOOK_EVERY_S = 0.2
PATIENCE_S = 120
TOKEN = "the token of a drill"
WEBHOOK = ("postmark", "long and random")
PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES: dict[str, Any] = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())
ALERTS = [rule["alert"] for rule in RULES["groups"][0]["rules"]]

# Settings of the processes that differ from the defaults. The pauses between tries and look-ups are
# a sixtieth of the defaults. The call deadline and the lease are longer, because the machine may be
# busy.  The list has twenty readers, batches have two, and two bounces exceed the limit. Faults
# last longer than the default number of tries.
SETTINGS = {
    "DELIVERY_HTTP_DEADLINE_S": "3",
    "DELIVERY_LEASE_S": "2",
    "DELIVERY_LOOKUP_AFTER_S": "1,5,15",
    "DELIVERY_RETRY_BASE_S": "0.083",
    "DELIVERY_RETRY_CAP_S": "15",
    "DELIVERY_BATCH_SIZE": "2",
    "DELIVERY_MAX_ATTEMPTS": "1000",
    "DELIVERY_PROCESSES": "1",  # Drills freeze a worker by its process id.
    "DELIVERY_SURGE_BOUNCES_LEAST": "2",
    "POSTMARK_WEBHOOK_USER": WEBHOOK[0],
    "POSTMARK_WEBHOOK_PASSWORD": WEBHOOK[1],
    "METRICS_TOKEN": TOKEN,
    "TRUST_PROXY": "on",
}


class NotInTimeError(Exception):
    """A condition was not met in time."""


def shortened(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules with every time divided by FACTOR, otherwise unchanged."""

    def seconds(span: str) -> str:
        number, unit = int(span[:-1]), {"s": 1, "m": 60, "h": 3600}[span[-1]]
        return f"{number * unit * 1000 // FACTOR}ms"

    def expression(text: str) -> str:
        text = re.sub(r"\[(\w+)\]", lambda match: f"[{seconds(match[1])}]", text)
        return re.sub(
            r"(_seconds\)) > (\d+)", lambda match: f"{match[1]} > {int(match[2]) / FACTOR:g}", text
        )

    return [
        rule | {"for": seconds(rule["for"]), "expr": expression(rule["expr"])} for rule in rules
    ]


def typed_in(alert: str) -> list[tuple[str, str]]:
    """Return the runbook's lines for an alert: language, and line or statement."""
    page = (ROOT / "docs" / "runbook.md").read_text()
    section = page.split(f"\n## {alert}\n", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"^ *```(sh|sql)\n(.*?)^ *```$", section, re.MULTILINE | re.DOTALL)
    return [
        (language, " ".join(line.split()))
        for language, block in blocks
        for line in ([block] if language == "sql" else block.splitlines())
        if line.strip()
    ]


@dataclass
class Stage:
    server: OwnServer
    database: str
    sandbox: SandboxServer
    folder: Path
    port: int = field(default_factory=free_port)
    prometheus_port: int = field(default_factory=free_port)
    site: Program | None = None
    workers: list[Program] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def database_url(self) -> str:
        return self.server.url(self.database)

    def environment(self, **more: str) -> dict[str, str]:
        own = {"DATABASE_URL": self.database_url, "POSTMARK_BASE_URL": self.sandbox.url}
        return SETTINGS | own | more

    def dump(self) -> None:
        """Dump the database as docs/restore.md describes."""
        self._at_the_server("pg_dump", "--format=custom", f"--file={self.folder / 'dump'}")

    def restore_into_a_new_database(self) -> None:
        """Restore as docs/restore.md describes; processes started later use the result."""
        self.database = f"restored_{next(self.numbers)}"
        with self.server.admin() as admin:
            admin.execute(f"CREATE DATABASE {self.database}")
        self._at_the_server(
            "pg_restore", "--exit-on-error", "--no-owner", str(self.folder / "dump")
        )

    def _at_the_server(self, program: str, *arguments: str) -> None:
        path = str(self.server.cluster.binaries / program)
        subprocess.run([path, f"--dbname={self.database_url}", *arguments], check=True)

    def start_site(self, **more: str) -> None:
        """Start the site, and wait until it answers."""
        self.site = web_server("site", self.port, self.folder, **self.environment(**more))
        self.site.begin()
        self.until(self._is_alive, "the site answers")

    def _is_alive(self) -> bool:
        with suppress(requests.RequestException):
            return requests.get(f"{self.url}/health/live/", timeout=5).status_code == 200
        return False

    def stop_site(self) -> None:
        if self.site is not None:
            self.site.end()

    def start_worker(self, **more: str) -> Program:
        begun = worker("worker", self.folder, **self.environment(**more))
        begun.begin()
        self.workers.append(begun)
        return begun

    def stop_workers(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop all workers, frozen ones too, and wait."""
        for one in self.workers:
            one.send_signal(signal.SIGCONT)
            one.end(number)
        self.workers.clear()

    def prometheus(self) -> Program:
        """Run Prometheus with a changed copy of the example's configuration.

        It has other targets and intervals, and shorter times in its rules.
        """
        configuration = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
        configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        for job in configuration["scrape_configs"]:
            job["static_configs"] = [{"targets": [f"127.0.0.1:{self.port}"]}]
            if "authorization" in job:
                job["authorization"]["credentials_file"] = str(self.token_file)
        group = RULES["groups"][0]
        rules = {"groups": [group | {"rules": shortened(group["rules"])}]}
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
        (self.folder / "alerts.yml").write_text(yaml.safe_dump(rules))
        self.token_file.write_text(TOKEN)
        command = [
            "prometheus",
            f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'series'}",
            f"--web.listen-address=127.0.0.1:{self.prometheus_port}",
        ]
        return Program("prometheus", command, self.folder)

    @property
    def token_file(self) -> Path:
        return self.folder / "token"

    def until(self, so: Callable[[], bool], what: str) -> float:
        """Wait until a condition is true; return the seconds that it took."""
        began = time.monotonic()
        nothing = threading.Event()
        while not so():
            if time.monotonic() - began > PATIENCE_S:
                raise NotInTimeError(f"not within {PATIENCE_S} s: {what}")
            nothing.wait(LOOK_EVERY_S)
        return time.monotonic() - began

    def firing(self) -> set[str]:
        try:
            url = f"http://127.0.0.1:{self.prometheus_port}/api/v1/alerts"
            alerts = requests.get(url, timeout=10).json()["data"]["alerts"]
        except requests.RequestException:
            return set()
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the result of a statement in the drill's database."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            done = connection.execute(statement, values or None)  # type: ignore[call-overload]
            return done.fetchall() if done.description else []

    def manage(self, *command: str, **more: str) -> str:
        """Return the last output of a command."""
        return manage(self.database_url, *command, **self.environment(**more))

    def publish(self, title: str, **more: str) -> str:
        html = self.folder / "letter.html"
        html.write_text("<p>Dear {{ name|reader }}</p>")
        output = self.manage("publish", "--title", title, "--html-file", str(html), **more)
        return str(yaml.safe_load(output.strip().splitlines()[-1])["issue"])

    def bring(self, count: int, address: str) -> None:
        """Import confirmed readers; `address` has a placeholder for their number."""
        readers = self.folder / "readers.csv"
        readers.write_text("email\n" + "".join(f"{address.format(n)}\n" for n in range(count)))
        self.manage("import_subscribers", str(readers), "--confirmed")

    def post_webhook(self, event: dict[str, Any]) -> None:
        headers = {
            "Host": "letter.example.org",
            "X-Forwarded-Proto": "https",
            "X-PM-Webhook-Trace-Id": f"drill-{next(self.numbers)}",
        }
        url = f"{self.url}/webhooks/postmark/"
        requests.post(url, json=event, auth=WEBHOOK, headers=headers, timeout=30)

    def type(self, alert: str, **values: str) -> None:
        """Run the runbook's lines for an alert, with values for words in capitals."""
        lines = typed_in(alert)
        assert lines, f"the runbook has no line for {alert}"
        for language, line in lines:
            line_text = line
            for word, value in values.items():
                line_text = re.sub(rf"\b{word}\b", value, line_text)
            ended = "done"
            if language == "sql":
                if found := self.sql(line_text):
                    values["PID"] = str(found[0][0])
            elif line_text.startswith("./homing deliver"):
                self.start_worker()
            elif line_text.startswith("./homing "):
                # Lines that search may return an exit code, which is not an error.
                with suppress(RuntimeError):
                    self.manage(*line_text.split()[1:])
            else:
                ended = self._in_a_shell(line_text)
            say(f"  {line}: {ended}")

    def _in_a_shell(self, line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line.replace(":8000/", f":{self.port}/")],
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "METRICS_TOKEN": TOKEN},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.stdout.strip() or f"exit {done.returncode}"


@contextmanager
def stage(server: OwnServer) -> Iterator[Stage]:
    """Run the whole environment with an author and readers; remove it at the end."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="homing-drill-")))
        database = stack.enter_context(server.fresh_database())
        it = Stage(server, database, stack.enter_context(SandboxServer()), folder)
        it.bring(20, "reader{}@example.net")
        stack.callback(it.stop_site)
        it.start_site()
        prometheus = it.prometheus()
        stack.callback(prometheus.end)
        prometheus.begin()
        stack.callback(it.stop_workers, signal.SIGKILL)
        it.until(lambda: not it.firing(), "no alert fires")
        yield it
