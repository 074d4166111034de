"""A backup file is complete or refused, and gets its name only when complete."""

import json
import os
import resource
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from zipfile import BadZipFile, ZipFile

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


def test_file_is_a_private_zip_with_the_dump(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["one.backup"]
    found = read_backup(path, nothing)
    assert b"".join(found.chunks()) == b"".join(CHUNKS)
    assert found.manifest == BACKUP


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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nowhere/one", "nowhere/one cannot be written: No such file or directory. Name another"),
        ("pipe", "pipe is not a regular file"),
        ("/dev/null", "null is not a regular file"),
        ("/", "/ is not a regular file"),
        ("", "is not a regular file"),
    ],
)
def test_place_that_takes_no_file_is_named(tmp_path: Path, name: str, expected: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BackupRefusedError, match=expected):
        write(tmp_path / name, replaces=True)
    assert {each.name for each in tmp_path.iterdir()} == {"pipe"}


def test_link_remains_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link = tmp_path / "one.backup"
    link.symlink_to("disk/two.backup")
    write(link)
    assert link.is_symlink()
    assert read_backup(tmp_path / "disk" / "two.backup", nothing)


def test_second_run_for_the_same_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"

    def meanwhile() -> Iterator[bytes]:
        with pytest.raises(BackupRefusedError, match="Another backup is writing"):
            write(path)
        yield b"PGDMP"

    write(path, chunks=meanwhile())
    assert b"".join(read_backup(path, nothing).chunks()) == b"PGDMP"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a letter", "is not a complete backup"),
        (b"", "is not a complete backup"),
        ("without the end", "is not a complete backup"),
        ("changed", "Bad CRC-32"),
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


def test_pipe_is_refused_instead_of_waiting_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BackupRefusedError, match="pipe is not a regular file"):
        read_backup(tmp_path / "pipe", nothing)


@pytest.mark.parametrize(
    "manifest",
    [
        *({**asdict(BACKUP), "migrations": value} for value in (None, 5, [[1]])),
        {**asdict(BACKUP), "keys": []},
        *({**asdict(BACKUP), "least_server": value} for value in ("18", 1.5, -1, True)),
        {**asdict(BACKUP), "more": "x"},
        b"[" * 100_000,
    ],
    ids=lambda manifest: str(manifest)[-60:],
)
def test_manifest_with_other_values_is_refused(tmp_path: Path, manifest: object) -> None:
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    with ZipFile(tmp_path / "one.backup", "w") as file:
        file.writestr("database.dump", b"PGDMP")
        file.writestr("manifest.json", text)
    with pytest.raises(BackupRefusedError, match=r"a complete backup \(another manifest"):
        read_backup(tmp_path / "one.backup", nothing)


def test_texts_of_the_manifest_are_safe_to_print() -> None:
    text = replace(BACKUP, release="1.0\x1b[31m\n").as_json()
    assert type(BACKUP).from_json(text).release == "1.0[31m"


def test_file_that_changes_after_the_check_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "one.backup"
    write(path)
    found = read_backup(path, nothing)
    write(path, replaces=True, chunks=iter((b"PGDMP" + b"c" * 5700,)))
    with pytest.raises(BadZipFile):
        list(found.chunks())


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BackupRefusedError, match="cannot be read: No such"):
        read_backup(tmp_path / "nowhere", nothing)
