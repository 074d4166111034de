"""
The drill of docs/restore.md, with its own commands: a backup taken mid-send sends nothing twice.

Two servers, real workers, calls in the air when the backup is taken and when the server is lost.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from newsletter_site.demo.browser import Browser
from newsletter_site.embedded_postgres import address, server
from newsletter_site.embedded_postgres.cluster import cluster_in
from newsletter_site.embedded_postgres.initdb import make_data_directory
from newsletter_site.embedded_postgres.server_user import run_as
from postmark_sandbox.server import SandboxServer
from tests.browser.web_site import running_site
from tests.delivery.manage import ROOT, Installation
from tests.faults.commands_of_a_page import commands_of
from tests.faults.waiting_for import eventually, held
from tests.faults.watched_worker import WatchedWorker
from tests.own_cluster import OwnCluster, remove

PAGE = commands_of("restore.md")
FOLDER = "/var/backups/homing"
READERS = 80
BATCH = 5
WORKERS = 2
SETTINGS = {
    "DELIVERY_BATCH_SIZE": str(BATCH),
    "DELIVERY_LEASE_S": "1",
    "DELIVERY_LOOKUP_AFTER_S": "0.2,0.5,2",
    "DELIVERY_RETRY_BASE_S": "0.1",
    "DELIVERY_RETRY_CAP_S": "1",
    "PUBLISH_HOLD_S": "0",
}
# A call that a test holds lasts as long as the test takes; after a restore nothing is held.
LONGEST_HELD_S = 300
WHILE_HELD = SETTINGS | {"DELIVERY_HTTP_DEADLINE_S": str(LONGEST_HELD_S)}
AFTERWARDS = SETTINGS | {"DELIVERY_HTTP_DEADLINE_S": "1"}

pytestmark = pytest.mark.timeout(400)


class Machine:
    """A machine with a PostgreSQL on it, which may be lost."""

    def __init__(self) -> None:
        self._folder = OwnCluster()  # removed by the next run if this one is killed
        self.cluster = cluster_in(self._folder.data_dir)

    @property
    def url(self) -> str:
        """The DATABASE_URL of Homing's database on it."""
        return address.url(self.cluster.socket_dir, "homing")

    def set_up(self, configuration: str = "") -> None:
        """A new server with an empty database."""
        make_data_directory(self.cluster)
        with (self.cluster.data / "postgresql.conf").open("a") as file:
            file.write(f"\nfsync = off\n{configuration}\n")
        self.start()
        server.make_database(self.cluster, "homing")

    def has_an_empty_place(self) -> None:
        """Where its data go is a folder already, as after the installation of a server."""
        made = run_as(self.cluster.user, "mkdir", "-p", "-m", "700", self.cluster.data)
        assert made.returncode == 0

    def start(self) -> None:
        server.start(self.cluster)

    def lose(self) -> None:
        """kill -9 of the server; nobody saved anything."""
        postmaster = int((self.cluster.data / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)
        eventually(lambda: not server.is_up(self.cluster), "the server was gone")

    def one(self, question: str) -> Any:
        with psycopg.connect(self.url, autocommit=True) as session:
            row = session.execute(question).fetchone()
        assert row is not None
        return row[0]

    def remove(self) -> None:
        remove(self._folder.data_dir)
        os.close(self._folder.lock)


class Drill:
    """An issue that is being sent from one machine, and a backup of it on another."""

    def __init__(self, provider: SandboxServer, lost: Machine, new: Machine, folder: Path) -> None:
        self.provider, self.lost, self.new = provider, lost, new
        self._folder = folder
        self._workers: list[WatchedWorker] = []
        # Where the server's user may write, whoever that is.
        self.backups = new.cluster.home / "backups"
        assert run_as(new.cluster.user, "mkdir", "-p", self.backups / "wal").returncode == 0

    # --- What the page says -------------------------------------------------------------------

    def words(self, mark: str) -> str:
        """A block of the page, in the folders of this test."""
        return PAGE[mark].replace(FOLDER, str(self.backups))

    def as_postgres(self, mark: str, machine: Machine) -> None:
        """Run a block as the user that PostgreSQL runs as."""
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
        """Run a block where Homing is installed."""
        script = "set -eu\n" + self.words(mark).replace("./homing", f"{sys.executable} manage.py")
        done = subprocess.run(
            ["/bin/bash", "-c", script],
            cwd=ROOT,
            env=os.environ
            | AFTERWARDS
            | {
                "PATH": f"{machine.cluster.binaries.folder}:{os.environ['PATH']}",
                "DATABASE_URL": machine.url,
                "POSTMARK_BASE_URL": self.provider.url,
                "POSTMARK_SERVER_TOKEN": "sandbox",
            },
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"

    # --- Sending ------------------------------------------------------------------------------

    def homing(self, machine: Machine) -> Installation:
        return Installation(self.provider.url, DATABASE_URL=machine.url, **AFTERWARDS)

    def begin_to_send(self) -> str:
        """Readers, an issue, and workers of which each has sent a batch and has a call out."""
        homing = self.homing(self.lost)
        homing.run("migrate")
        readers = self._folder / "readers.csv"
        readers.write_text("email\n" + "".join(f"reader{n}@example.net\n" for n in range(READERS)))
        homing.run("import_subscribers", str(readers), "--confirmed")
        homing.run("createsuperuser", "--noinput", "--username=author", "--email=a@b.example")
        issue = self._folder / "issue.txt"
        issue.write_text("Swifts are back.")
        published = homing.last_line("publish", "--title=Swifts", f"--text-file={issue}")
        self._hold_next()
        for _ in range(WORKERS):
            self._workers.append(
                WatchedWorker(self.lost.url, self.provider.url, "--concurrency", "1", **WHILE_HELD)
            )
        held(self.provider, WORKERS)
        self.send_on()
        return str(published["issue"])

    def send_on(self) -> None:
        """Each worker gets its answer, writes it down, and has its next call in the air."""
        self._hold_next()
        self.provider.sandbox.gate.release("answer")
        held(self.provider, WORKERS)

    def _hold_next(self) -> None:
        self.provider.sandbox.set_fault("hold", moment="after_accept", calls=WORKERS)

    def lose_everything(self) -> None:
        """The machine is gone, its workers with it, and their answers never come."""
        for worker in self._workers:
            worker.kill()
        self.lost.lose()
        self.provider.sandbox.gate.release("close")

    def stop_workers(self) -> None:
        """kill -9 of the workers alone."""
        for worker in self._workers:
            worker.kill()
        self.provider.sandbox.gate.release("close")

    def copies(self) -> dict[str, int]:
        """How many copies the provider accepted, by delivery."""
        return self.provider.sandbox.outbox.copies(lambda size: size > 0)

    # --- Afterwards ---------------------------------------------------------------------------

    def time_of_held_calls_passes(self, machine: Machine) -> None:
        """Move what the backup says of calls in the air into the past: their time is over."""
        with psycopg.connect(machine.url) as session:
            span = f"{LONGEST_HELD_S} seconds"
            session.execute("UPDATE batch SET lease_until = lease_until - %s::interval", [span])
            session.execute(
                "UPDATE attempt SET started_at = started_at - %s::interval, "
                "deadline_at = deadline_at - %s::interval",
                [span, span],
            )

    def workers_refuse(self, machine: Machine) -> None:
        """Whoever starts workers too early does no harm."""
        before = self.copies()
        self.homing(machine).run("deliver", "--until-empty", exit_code=3)
        assert self.copies() == before

    def all_is_well(self, machine: Machine, issue: str) -> None:
        """The page's last steps, and everybody has one copy."""
        homing = self.homing(machine)
        homing.run("deliver", "--until-empty")
        homing.run("audit")
        status = homing.last_line("issue_status", issue)
        assert (status["state"], status["audience"], status["sent"]) == (
            "succeeded",
            READERS,
            READERS,
        )
        assert set(self.copies().values()) == {1}
        assert len(self.copies()) == READERS

    def end(self) -> None:
        for worker in self._workers:
            worker.kill()


@pytest.fixture
def machines() -> Iterator[Callable[[], Machine]]:
    with ExitStack() as stack:

        def begin() -> Machine:
            machine = Machine()
            stack.callback(machine.remove)
            return machine

        yield begin


@pytest.fixture
def drill(
    provider: SandboxServer, machines: Callable[[], Machine], tmp_path: Path
) -> Iterator[Drill]:
    drill = Drill(provider, machines(), machines(), tmp_path)
    yield drill
    drill.end()


def test_a_dump_taken_in_the_middle_of_sending_is_restored_elsewhere_and_sends_nothing_twice(
    drill: Drill,
) -> None:
    drill.lost.set_up()
    issue = drill.begin_to_send()
    drill.as_postgres("dump", drill.lost)
    drill.send_on()
    drill.send_on()
    drill.lose_everything()
    assert len(drill.copies()) == 4 * WORKERS * BATCH
    drill.new.set_up()
    drill.as_postgres("restore a dump", drill.new)
    assert drill.new.one("SELECT sum(sent) FROM batch") == WORKERS * BATCH
    drill.time_of_held_calls_passes(drill.new)
    drill.workers_refuse(drill.new)
    drill.as_operator("after", drill.new)
    drill.all_is_well(drill.new, issue)


def test_a_dump_put_back_into_the_same_database_is_declared_and_sends_nothing_twice(
    drill: Drill,
) -> None:
    drill.lost.set_up()
    issue = drill.begin_to_send()
    drill.as_postgres("dump", drill.lost)
    drill.send_on()
    drill.stop_workers()
    drill.as_operator("restore into the same", drill.lost)
    drill.time_of_held_calls_passes(drill.lost)
    drill.as_operator("after", drill.lost)
    drill.all_is_well(drill.lost, issue)


def test_a_server_brought_back_from_its_archive_sends_nothing_twice(drill: Drill) -> None:
    drill.lost.set_up(drill.words("archive"))
    issue = drill.begin_to_send()
    drill.as_postgres("base backup", drill.lost)
    drill.send_on()
    # What has been archived is brought back, what came after that is lost.
    last = drill.lost.one("SELECT pg_walfile_name(pg_switch_wal())")
    eventually(lambda: (drill.backups / "wal" / last).exists(), "the archive had it")
    drill.send_on()
    drill.lose_everything()
    assert len(drill.copies()) == 4 * WORKERS * BATCH
    drill.new.has_an_empty_place()
    drill.as_postgres("restore to a point in time", drill.new)
    drill.new.start()
    eventually(lambda: not drill.new.one("SELECT pg_is_in_recovery()"), "it was recovered")
    assert drill.new.one("SELECT sum(sent) FROM batch") == 2 * WORKERS * BATCH
    drill.time_of_held_calls_passes(drill.new)
    drill.workers_refuse(drill.new)
    drill.as_operator("after", drill.new)
    drill.all_is_well(drill.new, issue)


def test_links_of_old_letters_need_the_key_that_was_backed_up(drill: Drill, tmp_path: Path) -> None:
    kept = tmp_path / "homing.env"
    kept.write_text(f"SECRET_KEY={os.environ['SECRET_KEY']}\n")
    install = drill.words("settings").replace("/etc/homing", str(tmp_path))
    install = install.replace(str(drill.backups), str(tmp_path / "kept"))
    (tmp_path / "kept-settings").mkdir()
    subprocess.run(["/bin/bash", "-c", install], check=True)
    drill.lost.set_up()
    drill.begin_to_send()
    letter = drill.provider.sandbox.outbox.message(1)
    link = re.search(r"https?://[^/\s]+(/unsubscribe/[^\s\"<>]+)", letter.item["TextBody"])
    assert link is not None
    backed_up = (tmp_path / "kept-settings" / "homing.env").read_text().strip().partition("=")[2]
    for key, status in (
        (backed_up, 200),
        ("another key, as long as one has to be: 0123456789", 404),
    ):
        with running_site(drill.lost.url, drill.provider.url, {"SECRET_KEY": key}) as site:
            assert Browser(site.url).open(link[1]).status == status


def test_the_commands_for_compose_say_the_same_as_those_for_a_server() -> None:
    page = (ROOT / "docs" / "restore.md").read_text()
    for mark, program in (("dump", "pg_dump"), ("restore a dump", "pg_restore --exit")):
        (plain,) = (line for line in PAGE[mark].splitlines() if line.startswith(program))
        (compose,) = re.findall(rf"^docker compose .*exec -T postgres ({program}.*)$", page, re.M)
        options = set(re.findall(r"--(?!dbname|file|username)\S+", plain))
        assert options == set(re.findall(r"--(?!dbname|file|username)\S+", compose))
