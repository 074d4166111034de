"""`backup` and `restore` on a real server: refusals, passwords and kills."""

import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from delivery.models import Edition
from delivery.monitoring import worker_heartbeat
from delivery.reconcile.database_identity import check_identity
from newsletter_site.backup import BackupRefusedError
from newsletter_site.backup.restore_backup import restore_backup
from newsletter_site.embedded_postgres import find_binaries, use_programs
from newsletter_site.migration_locks import single_run
from tests.delivery.edition_factory import Newsroom
from tests.faults.processes.watched_process import WatchedProcess
from tests.faults.servers.pgbouncer import Pooler
from tests.faults.servers.postgres_server import OwnServer
from tests.faults.wait_until import eventually

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


@pytest.fixture
def backup(here: str, tmp_path: Path) -> Path:
    """Return a backup of this database, which contains an unfinished issue."""
    Newsroom().publish(3)
    check_identity()
    path = tmp_path / "one.backup"
    call_command("backup", str(path))
    return path


def refusal(*command: str) -> str:
    with pytest.raises(CommandError) as error:
        call_command(*command)
    connection.close()
    return str(error.value)


@contextmanager
def empty_database(server: OwnServer) -> Iterator[str]:
    with server.fresh_database("template0") as name, server.as_djangos_own(server.url(name)):
        yield name


def test_restore_declares_itself_in_every_database(backup: Path, server: OwnServer) -> None:
    call_command("restore", "--replace", str(backup))
    assert check_identity().is_another
    assert not check_identity().is_another
    with empty_database(server):
        call_command("restore", str(backup))
        found = check_identity()
    assert found.is_another
    assert len(found.stopped) == 1


def test_database_in_use_is_not_replaced(backup: Path, server: OwnServer, database: str) -> None:
    worker_heartbeat.beat(worker := uuid.uuid4(), host="mail-1", pid=7)
    assert "active workers: 1, other sessions: 0" in refusal("restore", "--replace", str(backup))
    worker_heartbeat.remove_worker(worker)
    with psycopg.connect(server.url(database)):
        assert "active workers: 0, other sessions: 1" in refusal(
            "restore", "--replace", str(backup)
        )
    assert "is not empty" in refusal("restore", str(backup))


def test_extension_of_a_superuser_remains(backup: Path, server: OwnServer) -> None:
    with server.fresh_database("template0") as name:
        with psycopg.connect(server.url(name), autocommit=True) as superuser:
            superuser.execute("CREATE EXTENSION pg_trgm")
            superuser.execute(f"CREATE ROLE plain LOGIN PASSWORD '{server.password}'")
            superuser.execute(f"ALTER DATABASE {name} OWNER TO plain")
            superuser.execute("GRANT CREATE ON SCHEMA public TO plain")
        try:
            url = server.url(name).replace("//postgres:", "//plain:")
            with server.as_djangos_own(url):
                call_command("restore", str(backup))
                connection.close()
                call_command("restore", "--replace", str(backup))
        finally:
            with psycopg.connect(server.url(name), autocommit=True) as superuser:
                superuser.execute("REASSIGN OWNED BY plain TO postgres")
                superuser.execute("DROP OWNED BY plain")
                superuser.execute("DROP ROLE plain")


def test_file_that_changes_after_the_check_is_not_restored(backup: Path, server: OwnServer) -> None:
    content = backup.read_bytes()

    def change(size: int) -> None:
        # Damage the end of the dump, because the end contains data, which pg_restore does not
        # check.
        last = content.index(b"PGDMP") + size - 1
        with backup.open("r+b") as file:
            file.seek(last)
            file.write(bytes([content[last] ^ 1]))

    with empty_database(server):
        with pytest.raises(BackupRefusedError, match="was changed after it was checked"):
            restore_backup(
                backup,
                connection,
                keys=[settings.SECRET_KEY],
                other_key=False,
                replaces=False,
                report=change,
            )
        with connection.cursor() as cursor:
            cursor.execute("SELECT to_regclass('edition') IS NULL")
            assert cursor.fetchone() == (True,)


def test_role_that_may_not_read_is_named(here: str, server: OwnServer, tmp_path: Path) -> None:
    with psycopg.connect(server.url(here), autocommit=True) as superuser:
        superuser.execute(f"CREATE ROLE reader LOGIN PASSWORD '{server.password}'")
        try:
            url = server.url(here).replace("//postgres:", "//reader:")
            with server.as_djangos_own(url):
                found = refusal("backup", str(tmp_path / "one"))
        finally:
            superuser.execute("DROP ROLE reader")
    assert "permission denied for table" in found
    assert "Name the role that owns the tables" in found


def test_settings_file_is_written_last(here: str, tmp_path: Path) -> None:
    one, link = tmp_path / "one", tmp_path / "link"
    link.symlink_to(one)
    assert "Name two files" in refusal("backup", "--force", str(one), f"--settings-file={link}")
    assert "is not a regular file" in refusal("backup", str(tmp_path), f"--settings-file={one}")
    assert [each.name for each in tmp_path.iterdir()] == ["link"]


def test_failed_restore_changes_nothing(backup: Path) -> None:
    with connection.cursor() as cursor:
        # pg_restore does not know this view, so it cannot drop the table that the view reads.
        cursor.execute("CREATE VIEW ours AS SELECT * FROM edition")
    Newsroom().publish(2)
    assert "cannot drop table" in refusal("restore", "--replace", str(backup))
    assert Edition.objects.count() == 2


def test_backup_and_restore_refuse_a_pooler(backup: Path, server: OwnServer, here: str) -> None:
    pooler = Pooler(server, pool_size=5)
    try:
        with server.as_djangos_own(pooler.url(here)):
            assert "names a pooler" in refusal("backup", f"{backup}.2")
            assert "names a pooler" in refusal("restore", "--replace", str(backup))
    finally:
        pooler.remove()


def test_commands_wait_for_no_migrate(backup: Path) -> None:
    with single_run(connection, 1):
        assert "migrate or a restore is running on" in refusal("backup", f"{backup}.2")
    assert not Path(f"{backup}.2").exists()


def test_missing_programs_are_named(here: str, tmp_path: Path) -> None:
    usual = find_binaries.chosen_folder()
    use_programs(tmp_path)
    try:
        assert "Found: no version. Install" in refusal("backup", str(tmp_path / "one"))
    finally:
        use_programs(usual)  # type: ignore[arg-type]


def test_database_without_our_tables_is_no_backup(server: OwnServer, tmp_path: Path) -> None:
    with empty_database(server):
        assert "has no tables of Homing" in refusal("backup", str(tmp_path / "one"))


@pytest.fixture
def hears_hangup() -> Iterator[None]:
    """Let programs receive SIGHUP, also if `nohup` started the tests."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hears_hangup")
def test_ended_backup_leaves_no_file_and_shows_no_password(
    server: OwnServer, database: str, tmp_path: Path
) -> None:
    path = tmp_path / "one.backup"
    url = server.url(database)
    for end in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        with psycopg.connect(url) as blocker, psycopg.connect(url, autocommit=True) as onlooker:
            blocker.execute("LOCK TABLE edition IN ACCESS EXCLUSIVE MODE")
            run = WatchedProcess("backup", str(path), environment={"DATABASE_URL": url})
            eventually(lambda: onlooker.execute(WAITING).fetchone() == (1,), "pg_dump waits")
            shown = command_lines()
            assert any("pg_dump" in line and f"dbname={database}" in line for line in shown)
            assert not any(server.password in line for line in shown)
            run.signal(end)
            run.end()
            # Only a killed run leaves its unfinished file, which the next run overwrites.
            assert [each.name for each in tmp_path.iterdir()] == (
                ["one.backup.unfinished"] if end == signal.SIGKILL else []
            )
    run = WatchedProcess("backup", str(path), environment={"DATABASE_URL": url})
    assert run.end() == 0
    assert [each.name for each in tmp_path.iterdir()] == ["one.backup"]


def command_lines() -> list[str]:
    """Return the command lines of all processes, as every user sees them."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return lines


def test_killed_restore_leaves_the_database_empty(backup: Path, server: OwnServer) -> None:
    with server.fresh_database("template0") as name:
        url = server.url(name)
        with psycopg.connect(url, autocommit=True) as onlooker:
            with psycopg.connect(url) as blocker:
                # The restore must wait for this open transaction, which decides whether the new
                # table exists.
                blocker.execute("CREATE TABLE worker ()")
                run = WatchedProcess("restore", str(backup), environment={"DATABASE_URL": url})
                eventually(lambda: onlooker.execute(WAITING).fetchone() == (1,), "psql waits")
                run.kill()
                blocker.rollback()
            others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            eventually(lambda: onlooker.execute(others).fetchone() == (1,), "psql has ended")
            tables = onlooker.execute("SELECT count(*) FROM pg_class WHERE relname = 'edition'")
            assert tables.fetchone() == (0,)
