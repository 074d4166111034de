"""Restoring a backup from the middle of a send must not cause second copies.

The drill uses the commands of docs/restore.md, two servers and real workers. Calls are in flight
when the backup is taken and when the server is lost.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command

from newsletter_site.embedded_postgres import start_and_stop_server
from newsletter_site.embedded_postgres.server_folder import cluster_in
from newsletter_site.embedded_postgres.server_user import run_as
from newsletter_site.embedded_postgres.start_and_stop_server import make_data_directory
from postmark_sandbox.server import SandboxServer
from subscribers.links.unsubscribe_token import read, token_for
from tests.delivery.edition_factory import Newsroom
from tests.faults.processes.watched_worker import ROOT, WatchedWorker
from tests.faults.servers.postgres_server import OwnServer
from tests.faults.wait_until import eventually, held
from tests.postgres_cluster import OwnCluster, remove

TEXT = (ROOT / "docs" / "restore.md").read_text()
# The marked blocks of docs/restore.md, with their marks as keys.
PAGE = dict(re.findall(r"<!-- drill: ([a-z ]+) -->\n```(?:sh|ini)\n(.*?)```\n", TEXT, re.S))
FOLDER = "/var/backups/homing"
READERS = 80
BATCH = 5
WORKERS = 2
SETTINGS = {
    "DELIVERY_LEASE_S": "1",
    "DELIVERY_LOOKUP_AFTER_S": "0.2,0.5,2",
    "DELIVERY_RETRY_BASE_S": "0.1",
    "DELIVERY_RETRY_CAP_S": "1",
    "DELIVERY_NICENESS": "0",
}
# The longest time in seconds that a call is held: longer than the test takes. After a restore no
# call is held.
LONGEST_HELD_S = 300

OTHER_SESSIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
      AND pid <> pg_backend_pid()
"""

pytestmark = pytest.mark.timeout(400)


class Machine:
    """A machine with a PostgreSQL server that the test may destroy."""

    def __init__(self) -> None:
        self._folder = OwnCluster()  # removed by the next run if this one is killed
        self.cluster = cluster_in(self._folder.data_dir)

    @property
    def url(self) -> str:
        """Return the DATABASE_URL of Homing's database on this machine."""
        return self.cluster.url("homing")

    def set_up(self, configuration: str = "") -> None:
        """Start a new server with an empty database."""
        make_data_directory(self.cluster)
        with (self.cluster.data / "postgresql.conf").open("a") as file:
            file.write(f"\nfsync = off\n{configuration}\n")
        self.start()
        start_and_stop_server.make_database(self.cluster, "homing")

    def has_an_empty_place(self) -> None:
        """Create the empty data folder that installing a server leaves."""
        made = run_as(self.cluster.user, "mkdir", "-p", "-m", "700", self.cluster.data)
        assert made.returncode == 0

    def start(self) -> None:
        start_and_stop_server.start(self.cluster)

    def lose(self) -> None:
        """Kill the server with SIGKILL, so that it saves nothing."""
        postmaster = int((self.cluster.data / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)
        eventually(lambda: not start_and_stop_server.is_up(self.cluster), "the server has ended")

    def one(self, question: str) -> Any:
        with psycopg.connect(self.url, autocommit=True) as session:
            return (session.execute(question).fetchone() or (None,))[0]

    def remove(self) -> None:
        remove(self._folder.data_dir)
        os.close(self._folder.lock)


class Drill:
    """A machine that sends an issue, and another machine that restores its backup."""

    def __init__(
        self,
        provider: SandboxServer,
        lost: Machine,
        new: Machine,
        django: OwnServer,
        stack: ExitStack,
    ) -> None:
        self.sandbox, self.lost, self.new = provider.sandbox, lost, new
        self._provider, self._django, self._stack = provider, django, stack
        self._workers: list[WatchedWorker] = []
        # The folder of the backups, in which the server's user may write.
        self.backups = new.cluster.home / "backups"
        assert run_as(new.cluster.user, "mkdir", "-p", self.backups / "wal").returncode == 0

    def words(self, mark: str) -> str:
        """Return a block of docs/restore.md with the folders of this test."""
        return PAGE[mark].replace(FOLDER, str(self.backups))

    def as_postgres(self, mark: str, machine: Machine) -> None:
        """Run a block as PostgreSQL's user."""
        settings = {
            "PATH": f"{machine.cluster.binaries.folder}:{os.environ['PATH']}",
            "DATABASE_URL": machine.url,
            "PGDATA": str(machine.cluster.data),
        }
        setting = "".join(f"export {name}={shlex.quote(v)}\n" for name, v in settings.items())
        script = f"set -eu\n{setting}{self.words(mark)}"
        done = run_as(machine.cluster.user, "/bin/bash", "-c", script)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"

    def as_operator(self, mark: str, machine: Machine) -> None:
        """Run a block of the document in the folder of Homing's installation."""
        self._type(self.words(mark), machine)

    def on_a_plain_server(self, machine: Machine, *, after: bool) -> None:
        """Run the lines for a plain server up to the restore, or the lines that follow."""
        lines = self.words("ten lines")
        restore, _, others = lines.partition(" &&\n./homing migrate")
        self._type(f"./homing migrate{others}" if after else restore, machine)

    def _type(self, lines: str, machine: Machine) -> None:
        # Replace these commands with functions that do nothing: the machine has no systemd, and its
        # database exists already.
        names = ("systemctl", "install", "runuser")
        functions = "".join(f"{name}() {{ :; }}\n" for name in names)
        lines = lines.replace("/opt/homing", str(ROOT)).replace(
            "/etc/homing/homing.env", "/dev/null"
        )
        lines = lines.replace("./homing", f"{sys.executable} manage.py")
        self._in_a_shell(f"set -eu\n{functions}{lines}", machine)

    def with_compose(self, mark: str, machine: Machine) -> None:
        """Run a block for Compose on this machine instead of in containers."""
        lines = self.words(mark).replace("docker compose exec -T postgres ", "")
        lines = lines.replace("./homing-compose", f"{sys.executable} manage.py")
        for database in ("--username=homing homing", "--username=homing --dbname=homing"):
            lines = lines.replace(database, '--dbname="$DATABASE_URL"')
        assert "docker" not in lines
        assert "homing " not in lines
        self._in_a_shell(f"set -eu\n{lines}", machine)

    def _in_a_shell(self, script: str, machine: Machine) -> None:
        where = {
            "PATH": f"{machine.cluster.binaries.folder}:{os.environ['PATH']}",
            "DATABASE_URL": machine.url,
            "POSTMARK_BASE_URL": self._provider.url,
            "POSTMARK_SERVER_TOKEN": "sandbox",
            "DELIVERY_HTTP_DEADLINE_S": "1",
        }
        done = subprocess.run(
            ["/bin/bash", "-c", script],
            cwd=ROOT,
            env=os.environ | SETTINGS | where,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"

    def begin_to_send(self) -> None:
        """Start workers and wait until each has sent a batch and has a call in flight."""
        with self._django.as_djangos_own(self.lost.url):
            call_command("migrate", verbosity=0)
            self.edition = Newsroom().publish(READERS)
        self._hold_next()
        settings = SETTINGS | {
            "DELIVERY_BATCH_SIZE": str(BATCH),
            "DELIVERY_HTTP_DEADLINE_S": str(LONGEST_HELD_S),
        }
        for _ in range(WORKERS):
            worker = WatchedWorker(
                self.lost.url, self._provider.url, "--concurrency", "1", **settings
            )
            self._workers.append(worker)
            self._stack.callback(worker.kill)
        held(self._provider, WORKERS)
        self.send_on()

    def back_up(self, way: str) -> None:
        """Back up the machine that will be lost, on a plain server or with Compose."""
        if way == "compose":
            self.with_compose("dump with compose", self.lost)
        else:
            self.as_operator("backup", self.lost)

    def send_on(self) -> None:
        """Let each worker get its answer, record it, and start its next call."""
        self._hold_next()
        self.sandbox.gate.release("answer")
        held(self._provider, WORKERS)

    def _hold_next(self) -> None:
        self.sandbox.set_fault("hold", moment="after_accept", calls=WORKERS)

    def stop_workers(self) -> None:
        """Kill the workers with SIGKILL, so that the answers to their calls never arrive."""
        for worker in self._workers:
            worker.kill()
        self.sandbox.gate.release("close")
        with psycopg.connect(self.lost.url) as session:
            # A killed worker counts as active for a minute, and keeps its sessions for a moment.
            session.execute("UPDATE worker SET heard_at = heard_at - interval '1 minute'")
        eventually(lambda: self.lost.one(OTHER_SESSIONS) == 0, "the workers' sessions have ended")

    def copies(self) -> dict[str, int]:
        """Return the number of copies that the provider accepted, by delivery."""
        return self.sandbox.outbox.copies(lambda size: size > 0)

    def finish_on(self, machine: Machine, *, is_noticed: bool = True) -> None:
        """Run the last steps of docs/restore.md; check that every reader has one copy."""
        with psycopg.connect(machine.url) as session:
            # The calls that the backup shows as in flight have passed their deadline.
            span = f"{LONGEST_HELD_S} seconds"
            session.execute("UPDATE batch SET lease_until = lease_until - %s::interval", [span])
            session.execute(
                "UPDATE attempt SET started_at = started_at - %s::interval, "
                "deadline_at = deadline_at - %s::interval",
                [span, span],
            )
        deliver = f"{sys.executable} manage.py deliver --until-empty"
        before = self.copies()
        if is_noticed:
            # Start workers too early once, to show that this does no harm.
            self._in_a_shell(f"{deliver} || test $? = 3", machine)
        assert self.copies() == before
        self.on_a_plain_server(machine, after=True)
        self._in_a_shell(deliver, machine)
        with self._django.as_djangos_own(machine.url):
            counts = Newsroom().counts(self.edition)
        assert (counts.audience, counts.sent) == (READERS, READERS)
        assert list(self.copies().values()) == [1] * READERS


@pytest.fixture
def drill(provider: SandboxServer, server: OwnServer, settings: Any) -> Iterator[Drill]:
    settings.DELIVERY_BATCH_SIZE = BATCH
    with ExitStack() as stack:
        machines = [Machine(), Machine()]
        for machine in machines:
            stack.callback(machine.remove)
        yield Drill(provider, *machines, server, stack)


@pytest.mark.parametrize("way", ["plain server", "compose"])
def test_backup_restored_elsewhere_sends_nothing_twice(drill: Drill, way: str) -> None:
    drill.lost.set_up()
    drill.begin_to_send()
    drill.back_up(way)
    drill.send_on()
    drill.send_on()
    drill.stop_workers()
    drill.lost.lose()
    assert len(drill.copies()) == 4 * WORKERS * BATCH
    drill.new.set_up()
    if way == "compose":
        drill.with_compose("restore with compose", drill.new)
    else:
        drill.on_a_plain_server(drill.new, after=False)
    assert drill.new.one("SELECT sum(sent) FROM batch") == WORKERS * BATCH
    drill.finish_on(drill.new)


@pytest.mark.parametrize("way", ["plain server", "compose"])
def test_backup_restored_into_the_same_database_sends_nothing_twice(drill: Drill, way: str) -> None:
    drill.lost.set_up()
    drill.begin_to_send()
    drill.back_up(way)
    drill.send_on()
    drill.stop_workers()
    if way == "compose":
        drill.with_compose("restore into the same with compose", drill.lost)
    else:
        drill.as_operator("restore into the same", drill.lost)
    # The command that declares a restore also compares the records with the provider's.
    drill.finish_on(drill.lost, is_noticed=way != "compose")


def test_server_restored_from_its_archive_sends_nothing_twice(drill: Drill) -> None:
    drill.lost.set_up(drill.words("archive"))
    drill.begin_to_send()
    drill.as_postgres("base backup", drill.lost)
    drill.send_on()
    # The archived part of the log is restored; later changes are lost.
    last = drill.lost.one("SELECT pg_walfile_name(pg_switch_wal())")
    eventually(lambda: (drill.backups / "wal" / last).exists(), "the archive has the segment")
    drill.send_on()
    drill.stop_workers()
    drill.lost.lose()
    assert len(drill.copies()) == 4 * WORKERS * BATCH
    drill.new.has_an_empty_place()
    drill.as_postgres("restore to a point in time", drill.new)
    drill.new.start()
    eventually(lambda: not drill.new.one("SELECT pg_is_in_recovery()"), "the server has recovered")
    assert drill.new.one("SELECT sum(sent) FROM batch") == 2 * WORKERS * BATCH
    drill.finish_on(drill.new)


def test_old_links_need_the_key_that_was_backed_up(tmp_path: Path, settings: Any) -> None:
    (tmp_path / "homing.env").write_text(f"SECRET_KEY={settings.SECRET_KEY}\n")
    (tmp_path / "kept-settings").mkdir()
    install = PAGE["settings"].replace("/etc/homing", str(tmp_path))
    install = install.replace(FOLDER, str(tmp_path / "kept"))
    subprocess.run(["/bin/bash", "-c", install], check=True)
    link = token_for(42)
    settings.SECRET_KEY = "another key, as long as one has to be: 0123456789"
    assert read(link) is None
    backed_up = (tmp_path / "kept-settings" / "homing.env").read_text().strip()
    settings.SECRET_KEY = backed_up.partition("=")[2]
    assert read(link) == 42
