"""The file of a backup: complete or refused, and never half there under its name."""

import resource
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from newsletter_site.backup import BackupRefusedError
from newsletter_site.backup.backup_file import new_file, read_backup, write_backup
from tests.newsletter_site.backup.example_manifest import BACKUP

CHUNKS = (b"PGDMP" + b"a" * 5000, b"b" * 700)


def nothing(size: int) -> None:
    """Take a report and ignore it."""


def write(path: Path, *, replaces: bool = False, chunks: Iterator[bytes] | None = None) -> None:
    with new_file(path, replaces=replaces) as file:
        write_backup(file, BACKUP, chunks or iter(CHUNKS), nothing)


def test_file_is_a_private_tar_with_the_dump(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["one.backup"]
    with tarfile.open(path) as tar:
        assert tar.getnames() == ["database.dump", "manifest.json"]
    found = read_backup(path, nothing)
    assert b"".join(found.chunks()) == b"".join(CHUNKS)
    assert found.manifest == replace(
        BACKUP, bytes=len(b"".join(CHUNKS)), sha256=found.manifest.sha256
    )


def test_existing_file_is_replaced_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    path.write_bytes(b"yesterday's")
    with pytest.raises(BackupRefusedError, match="with --force"):
        write(path)
    assert path.read_bytes() == b"yesterday's"
    write(path, replaces=True)
    assert read_backup(path, nothing)


def test_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    path.write_bytes(b"yesterday's")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, usual[1]))
    try:
        with pytest.raises(BackupRefusedError, match="cannot be written: File too large"):
            write(path, replaces=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert path.read_bytes() == b"yesterday's"
    assert [each.name for each in tmp_path.iterdir()] == ["one.backup"]


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BackupRefusedError, match="nowhere/one cannot be written: No such file"):
        write(tmp_path / "nowhere" / "one")


def test_second_run_for_the_same_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"

    def meanwhile() -> Iterator[bytes]:
        with pytest.raises(BackupRefusedError, match="Another run writes"):
            write(path)
        yield b"PGDMP"

    write(path, chunks=meanwhile())
    assert read_backup(path, nothing).manifest.bytes == 5


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"PGDMP and so on", "is a dump of pg_dump"),
        (b"a letter", "is not a complete backup"),
        (b"", "is not a complete backup"),
        ("without the end", "is not a complete backup"),
        ("changed", "its checksum differs"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes | str, expected: str) -> None:
    path = tmp_path / "one.backup"
    write(path)
    whole = path.read_bytes()
    parts = {"without the end": whole[:4000], "changed": whole.replace(b"bbbb", b"bbBb", 1)}
    path.write_bytes(content if isinstance(content, bytes) else parts[content])
    with pytest.raises(BackupRefusedError, match=expected):
        read_backup(path, nothing)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BackupRefusedError, match="cannot be read: No such file"):
        read_backup(tmp_path / "nowhere", nothing)
