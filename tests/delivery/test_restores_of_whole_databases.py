"""A database, its files or a dump are put back under real workers: nobody gets a second copy."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from delivery.queue import identity
from newsletter_site.embedded_postgres.binaries import find_binaries
from newsletter_site.embedded_postgres.cluster import cluster_in
from newsletter_site.embedded_postgres.server_user import server_user
from postmark_sandbox.server import SandboxServer
from tests.delivery.copied_database import backup_of
from tests.delivery.manage import Installation
from tests.delivery.newsroom import Newsroom
from tests.delivery.worker_process import WorkerProcess
from tests.own_cluster import remove

pytestmark = pytest.mark.process

QUICK = {
    "DELIVERY_BATCH_SIZE": "5",
    "DELIVERY_HTTP_DEADLINE_S": "1",
    "DELIVERY_LEASE_S": "1",
    "DELIVERY_LOOKUP_AFTER_S": "0.2,0.5,2",
    "DELIVERY_RETRY_BASE_S": "0.1",
    "DELIVERY_RETRY_CAP_S": "1",
    "PUBLISH_HOLD_S": "0",
}


def copies(provider: SandboxServer) -> dict[str, int]:
    """How many copies the provider accepted, by delivery."""
    return provider.sandbox.outbox.copies(lambda size: size > 0)


# --- The whole way --------------------------------------------------------------------------------


def test_after_a_restore_nobody_gets_a_second_copy_and_nobody_none(
    newsroom: Newsroom, provider: SandboxServer, database_url: str, settings: object
) -> None:
    settings.DELIVERY_BATCH_SIZE = 5  # type: ignore[attr-defined]
    identity.notice()
    edition = newsroom.publish(40)
    newsroom.step()
    newsroom.step()
    # The call of the third batch is in the air when the backup is taken, and its worker is lost.
    provider.sandbox.set_fault("hold", moment="after_accept", calls=1)
    lost = WorkerProcess(database_url, provider.url, "--concurrency", "1", **QUICK)
    gate = provider.sandbox.gate
    assert gate.wait_until(lambda: gate.held == 1, 60)
    lost.kill()
    gate.release("close")
    with backup_of(database_url) as backup:
        # What the backup does not know of: four more batches go out.
        for _ in range(4):
            newsroom.step()
        sent = copies(provider)
        restored = Installation(provider.url, DATABASE_URL=backup.url, **QUICK)
        stopped = restored.last_line("deliver", "--until-empty", exit_code=3)
        assert copies(provider) == sent
        assert stopped["sent"] == 15
        assert stopped["waiting"] == 25
        hasty = QUICK | {"DELIVERY_LOOKUP_AFTER_S": "0.2,0.5,600"}
        early = Installation(provider.url, DATABASE_URL=backup.url, **hasty)
        assert early.last_line("reconcile", "--no-wait", exit_code=3)["reconciled"] == 0
        reconciled = restored.last_line("reconcile", str(edition.issue_id))
        assert reconciled["reconciled"] == 1
        assert reconciled["found"] == len(sent) == 35
        ended = restored.last_line("deliver", "--until-empty")
        assert ended["sent"] == 40
        restored.run("audit")
        again = restored.last_line("reconcile")
        assert again == dict.fromkeys(again, 0) | {"editions": 1, "found": 40}
    assert set(copies(provider).values()) == {1}
    assert len(copies(provider)) == 40


# --- Restores of a whole server -------------------------------------------------------------------


@contextmanager
def server_in(data_dir: Path) -> Iterator[Path]:
    """A data folder whose server runs whenever a command needs it, removed at the end."""
    try:
        yield data_dir
    finally:
        remove(data_dir)


class Server:
    """Homing with an issue for 20 readers on a server of its own, whose files can be put back."""

    def __init__(self, data_dir: Path, provider: SandboxServer) -> None:
        self.homing = Installation(provider.url, DEBUG="on", HOMING_DATA_DIR=str(data_dir), **QUICK)
        self.homing.run("migrate")
        readers = data_dir.with_name("readers.csv")
        readers.write_text("email\n" + "".join(f"reader{n}@example.net\n" for n in range(20)))
        self.homing.run("import_subscribers", str(readers), "--confirmed")
        self.homing.run("createsuperuser", "--noinput", "--username=author", "--email=a@b.example")
        issue = data_dir.with_name("issue.txt")
        issue.write_text("Swifts are back.")
        self.homing.run("publish", "--title=Swifts", f"--text-file={issue}")
        # Somebody has looked: the identity is stored, as it is wherever a worker ever ran.
        self.homing.run("reconcile")
        # The server is stopped whenever no command runs.
        self.files = cluster_in(data_dir).data
        self._aside = self.files.with_name("backup")
        copy_files(self.files, self._aside)

    def put_back(self) -> None:
        """Put its files back as they were before anything was sent."""
        copy_files(self._aside, self.files)


def copy_files(source: Path, target: Path) -> None:
    """As `cp -a` does, with their owner: the server's user may be another than ours."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", str(source), str(target)], check=True, timeout=120)


@pytest.fixture
def server(tmp_path: Path, provider: SandboxServer) -> Iterator[Server]:
    with server_in(tmp_path / "homing") as data_dir:
        yield Server(data_dir, provider)


def test_files_that_were_put_back_are_declared_to_be_restored_or_on_another_timeline(
    server: Server, provider: SandboxServer
) -> None:
    server.homing.run("deliver", "--until-empty")
    sent = copies(provider)
    assert len(sent) == 20
    # As they were: nothing but a declaration can say so.
    server.put_back()
    assert server.homing.last_line("reconcile", "--restored")["recorded"] == 20
    server.homing.run("deliver", "--until-empty")
    server.homing.run("audit")
    # As after a recovery to a point in time: it ends on a timeline of its own.
    server.put_back()
    with (server.files / "postgresql.auto.conf").open("a") as configuration:
        configuration.write("restore_command = 'false'\nhot_standby = off\n")
    (server.files / "recovery.signal").touch()
    owner = server.files.stat()
    os.chown(server.files / "recovery.signal", owner.st_uid, owner.st_gid)
    server.homing.run("deliver", "--until-empty", exit_code=3)
    assert copies(provider) == sent
    assert server.homing.last_line("reconcile")["recorded"] == 20
    server.homing.run("deliver", "--until-empty")
    server.homing.run("audit")
    assert copies(provider) == sent


def test_a_dump_that_was_restored_on_another_server_is_noticed(
    newsroom: Newsroom, provider: SandboxServer, database_url: str, settings: object, tmp_path: Path
) -> None:
    settings.DELIVERY_BATCH_SIZE = 5  # type: ignore[attr-defined]
    identity.notice()
    newsroom.publish(20)
    newsroom.step()
    programs = find_binaries(server_user(tmp_path))
    dump = subprocess.run(
        [str(programs / "pg_dump"), database_url], capture_output=True, text=True, check=True
    ).stdout
    newsroom.step()
    newsroom.step()
    sent = copies(provider)
    with server_in(tmp_path / "homing") as data_dir:
        restored = Installation(provider.url, DEBUG="on", HOMING_DATA_DIR=str(data_dir), **QUICK)
        restored.run("dbshell", "--", "-q", "-v", "ON_ERROR_STOP=1", typed=dump)
        restored.run("deliver", "--until-empty", exit_code=3)
        assert copies(provider) == sent
        assert restored.last_line("reconcile")["recorded"] == 10
        restored.run("deliver", "--until-empty")
        restored.run("audit")
    assert set(copies(provider).values()) == {1}
    assert len(copies(provider)) == 20
