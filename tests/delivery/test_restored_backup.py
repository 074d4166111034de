"""A backup is restored while mail is going out: nobody gets a second copy, and nobody none."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import Error, connection, transaction
from django.db.models.functions import Now

from delivery.models import Batch, DatabaseIdentity, Edition
from delivery.queue import control, errand, identity
from delivery.queue.claim import claim
from delivery.queue.split import lock_edition
from newsletter_site.embedded_postgres.binaries import find_binaries
from newsletter_site.embedded_postgres.cluster import cluster_in
from newsletter_site.embedded_postgres.server_user import server_user
from postmark_sandbox.server import SandboxServer
from tests.delivery.copied_database import backup_of
from tests.delivery.hands_on_an_edition import taken
from tests.delivery.manage import Installation
from tests.delivery.newsroom import Newsroom
from tests.delivery.worker_process import WorkerProcess
from tests.own_cluster import remove

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


def restored_identity() -> None:
    """What a backup brings along: the identity of another database."""
    DatabaseIdentity.objects.update(database=1)


# --- Noticing -------------------------------------------------------------------------------------


def test_the_first_look_stores_the_identity_and_stops_nothing(newsroom: Newsroom) -> None:
    edition = newsroom.publish(3)
    assert identity.notice().is_new
    assert not identity.notice().is_new
    assert newsroom.batch(edition).state == "ready"
    known = DatabaseIdentity.objects.get()
    assert known.system_identifier.isdecimal()
    assert len(known.timeline) == 8
    with connection.cursor() as cursor:
        cursor.execute("SELECT oid FROM pg_database WHERE datname = current_database()")
        assert cursor.fetchone() == (known.database,)


@pytest.mark.parametrize(
    "other", [{"system_identifier": "7"}, {"timeline": "0000000A"}, {"database": 1}]
)
def test_no_batch_can_be_claimed_in_a_database_that_is_another(
    newsroom: Newsroom, other: dict[str, object]
) -> None:
    newsroom.publish(3)
    identity.notice()
    DatabaseIdentity.objects.update(**other)
    assert claim(newsroom.author.pk, lease_s=5) is None
    assert claim(newsroom.author.pk, lease_s=5, rate_per_s=1000) is None
    assert identity.notice().is_another
    assert not identity.notice().is_another


@pytest.mark.parametrize("declared", [True, False])
def test_the_providers_lists_are_read_at_once(newsroom: Newsroom, declared: bool) -> None:
    identity.notice()
    errand.have_a_row("poll broadcast", due_in_s=3600)
    errand.have_a_row("poll brodcast", due_in_s=3600)
    errand.have_a_row("prune", due_in_s=3600)
    if declared:
        identity.declare_restored()
    else:
        DatabaseIdentity.objects.update(timeline="0000000A")
        identity.notice()
    assert errand.take("poll broadcast", uuid.uuid4(), lease_s=5) is not None
    # Of a stream that no setting names any more nobody would: it must not look as if one did.
    assert errand.take("poll brodcast", uuid.uuid4(), lease_s=5) is None
    assert errand.take("prune", uuid.uuid4(), lease_s=5) is None


@pytest.mark.parametrize("untold", [{"system_identifier": ""}, {"timeline": ""}])
def test_what_a_server_did_not_tell_is_no_difference_and_is_stored_when_it_does(
    newsroom: Newsroom, untold: dict[str, str]
) -> None:
    newsroom.publish(3)
    identity.notice()
    told = DatabaseIdentity.objects.values_list("system_identifier", "timeline").get()
    DatabaseIdentity.objects.update(**untold)
    assert not identity.notice().is_another
    assert DatabaseIdentity.objects.values_list("system_identifier", "timeline").get() == told
    assert claim(newsroom.author.pk, lease_s=5) is not None


def test_before_it_is_reconciled_an_edition_is_neither_resumed_nor_closed(
    newsroom: Newsroom,
) -> None:
    edition = newsroom.publish()
    Edition.objects.update(control="stopped", control_reason="Restored.", unreconciled_since=Now())
    assert not control.resume(edition.pk)
    assert not control.close(edition.pk)
    edition.refresh_from_db()
    assert edition.control == "stopped"


def test_a_role_that_is_not_a_superuser_may_read_the_identity(newsroom: Newsroom) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE plain_reader")
        try:
            cursor.execute("SET ROLE plain_reader")
            cursor.execute("SELECT * FROM this_database()")
            plain = cursor.fetchone()
            cursor.execute("RESET ROLE")
            cursor.execute("SELECT * FROM this_database()")
            assert plain == cursor.fetchone()
            assert "" not in plain
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute("DROP ROLE plain_reader")


def test_a_function_that_a_server_refuses_makes_the_rest_of_the_identity_count(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    newsroom.publish(3)
    identity.notice()
    refused = "pg_control_system(), pg_walfile_name(pg_lsn)"
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE refused_reader")
        try:
            cursor.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO refused_reader")
            cursor.execute(f"REVOKE EXECUTE ON FUNCTION {refused} FROM PUBLIC")
            cursor.execute("SET ROLE refused_reader")
            noticed = identity.notice()
            assert noticed.untold == ("system identifier", "timeline")
            assert not noticed.is_another
            restored_identity()
            assert identity.notice().is_another
            assert "this role may not set subscriber_id_seq" in caplog.text
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute(f"GRANT EXECUTE ON FUNCTION {refused} TO PUBLIC")
            cursor.execute("DROP OWNED BY refused_reader")
            cursor.execute("DROP ROLE refused_reader")


def test_what_is_open_stops_and_what_ended_or_waits_for_a_person_stays(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    done = newsroom.publish(2)
    newsroom.deliver_all()
    running, held, paused, cancelled = (
        newsroom.publish(),
        newsroom.publish(hold_s=600),
        newsroom.publish(),
        newsroom.publish(),
    )
    control.pause(paused.pk)
    control.cancel(cancelled.pk)
    identity.notice()
    restored_identity()
    assert identity.notice().stopped == (running.pk, held.pk, paused.pk)
    controls = dict(Edition.objects.values_list("pk", "control"))
    assert controls == {
        done.pk: "running",
        running.pk: "stopped",
        held.pk: "stopped",
        paused.pk: "paused",
        cancelled.pk: "cancelled",
    }
    assert "reconcile" in newsroom.books(running).control_reason
    for edition in (running, held, paused):
        assert not control.resume(edition.pk)
    assert not newsroom.step()
    assert len(copies(provider)) == 2


def test_a_worker_of_before_the_restore_has_lost_its_claim(newsroom: Newsroom) -> None:
    edition = newsroom.publish(3)
    held = taken()
    identity.notice()
    restored_identity()
    identity.notice()
    assert newsroom.batch(edition).epoch > held.epoch + 1000


def test_the_log_says_which_database_was_known_and_which_it_is(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    identity.notice()
    own = DatabaseIdentity.objects.get()
    told = f"{own.system_identifier}/{own.timeline}"
    restored_identity()
    identity.notice()
    assert f"({told}/1, now {told}/{own.database}): 0 open editions stop" in caplog.text


@pytest.mark.parametrize("seen_by", [identity.notice, identity.declare_restored])
def test_ids_of_readers_are_not_given_out_again_after_a_restore(
    newsroom: Newsroom, seen_by: Callable[[], object]
) -> None:
    identity.notice()
    (last,) = newsroom.confirm(1)
    restored_identity()
    seen_by()
    (next_one,) = newsroom.confirm(1, start=1)
    assert next_one.pk > last.pk + 1_000_000


def test_without_a_restore_ids_of_readers_leave_no_gap(newsroom: Newsroom) -> None:
    (last,) = newsroom.confirm(1)
    identity.notice()
    identity.notice()
    (next_one,) = newsroom.confirm(1, start=1)
    assert next_one.pk == last.pk + 1


def test_whoever_declares_a_restore_and_whoever_notices_it_do_not_wait_for_each_other(
    newsroom: Newsroom,
) -> None:
    edition = newsroom.publish(3)
    identity.notice()
    restored_identity()
    ended: list[object] = []

    def do(look: Callable[[], object]) -> None:
        try:
            ended.append(look())
        except Error as error:
            ended.append(error)
        finally:
            connection.close()

    declaring, noticing = (
        threading.Thread(target=do, args=(look,))
        for look in (identity.declare_restored, identity.notice)
    )
    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        declaring.start()
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
        noticing.start()
        newsroom.wait_for_a_backend_that_waits_for_a_lock(sessions=2)
    declaring.join()
    noticing.join()
    # Whichever of them comes first to say so.
    assert sorted(map(str, ended)) == sorted(map(str, [(edition.pk,), identity.Noticed()]))


def test_workers_that_start_at_once_stop_the_editions_once(newsroom: Newsroom) -> None:
    newsroom.publish(3)
    identity.notice()
    restored_identity()
    noticed: list[identity.Noticed] = []

    def look() -> None:
        noticed.append(identity.notice())
        connection.close()

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one.is_another for one in noticed) == 1
    assert Batch.objects.get().epoch == identity.EPOCHS_APART


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
        nothing_new = {
            "recorded": 0,
            "missing": 0,
            "twice": 0,
            "of_unknown_versions": 0,
            "reconciled": 0,
        }
        assert restored.last_line("reconcile") == {"editions": 1, "found": 40} | nothing_new
    assert set(copies(provider).values()) == {1}
    assert len(copies(provider)) == 40


def test_a_search_that_lags_after_a_restore_is_waited_for(
    newsroom: Newsroom, provider: SandboxServer, database_url: str, settings: object
) -> None:
    settings.DELIVERY_BATCH_SIZE = 5  # type: ignore[attr-defined]
    identity.notice()
    newsroom.publish(20)
    newsroom.step()
    # What is on record is in the search long since; what was sent after the backup is not yet.
    for parcel in provider.sandbox.outbox.parcels_newest_first():
        parcel.at_ns -= 60 * 10**9
    slow = QUICK | {"DELIVERY_LOOKUP_AFTER_S": "0.2,0.5,8"}
    with backup_of(database_url) as backup:
        newsroom.step()
        newsroom.step()
        provider.sandbox.set_fault("search_delay", seconds=8)
        restored = Installation(provider.url, DATABASE_URL=backup.url, **slow)
        assert restored.last_line("reconcile")["found"] == 15
        restored.run("deliver", "--until-empty")
        restored.run("audit")
    assert set(copies(provider).values()) == {1}
    assert len(copies(provider)) == 20


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


def test_files_that_were_put_back_and_recovered_are_on_another_timeline(
    server: Server, provider: SandboxServer
) -> None:
    server.homing.run("deliver", "--until-empty")
    sent = copies(provider)
    assert len(sent) == 20
    server.put_back()
    # As after a recovery to a point in time: it ends on a timeline of its own.
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


def test_files_that_were_put_back_as_they_were_are_declared_to_be_restored(
    server: Server, provider: SandboxServer
) -> None:
    server.homing.run("deliver", "--until-empty")
    sent = copies(provider)
    server.put_back()
    assert server.homing.last_line("reconcile", "--restored")["recorded"] == 20
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
