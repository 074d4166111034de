"""Test each reason to refuse a restore with plain values, without a database."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from newsletter_site.backup import BackupRefusedError
from newsletter_site.backup.manifest import Target, why_not_into, why_not_restorable
from newsletter_site.backup.postgres_programs import programs_for, read_failure
from newsletter_site.backup.settings_file import in_lines, settings_file
from tests.newsletter_site.backup.example_manifest import BACKUP, KEY

EMPTY = Target("homing", 15, "UTF8", is_empty=True)
FULL = Target("homing", 15, "UTF8", is_empty=False, migrations=frozenset({"delivery.0001"}))


@pytest.mark.parametrize(
    ("known", "keys", "expected"),
    [
        (["delivery.0001", "delivery.0002", "delivery.0003"], [KEY], ""),
        (["delivery.0001", "delivery.0002"], ["a new key", KEY], ""),
        (["delivery.0001"], [KEY], "does not know its migration delivery.0002. It was made by Hom"),
        (["delivery.0001", "delivery.0002"], ["an older key"], "SECRET_KEY was another one"),
    ],
)
def test_code_and_key_must_fit_the_backup(known: list[str], keys: list[str], expected: str) -> None:
    found = list(why_not_restorable(BACKUP, known, keys, other_key=False))
    assert expected in " ".join(found)
    assert len(found) == bool(expected)


def test_lost_key_can_be_accepted() -> None:
    assert not list(why_not_restorable(BACKUP, BACKUP.migrations, ["new"], other_key=True))


@pytest.mark.parametrize(
    ("target", "replaces", "expected"),
    [
        (EMPTY, False, ""),
        (EMPTY, True, ""),
        (FULL, True, ""),
        (replace(EMPTY, server=17), False, ""),
        (replace(EMPTY, server=14), False, "needs PostgreSQL 15 or newer"),
        (replace(EMPTY, encoding="SQL_ASCII"), False, "is SQL_ASCII. Homing needs UTF8"),
        (FULL, False, "is not empty"),
        (replace(FULL, migrations=frozenset()), True, "has tables, but not Homing's"),
        (
            replace(FULL, migrations=frozenset({"delivery.0001", "delivery.0003"})),
            True,
            "from before migration delivery.0003",
        ),
        (replace(FULL, workers=1), True, "active workers: 1, other sessions: 0"),
        (replace(FULL, sessions=2), True, "systemctl stop 'homing*'"),
    ],
)
def test_target_must_fit_the_backup(target: Target, replaces: bool, expected: str) -> None:
    found = list(why_not_into(target, BACKUP, replaces=replaces))
    assert expected in " ".join(found)
    assert len(found) == bool(expected)


@pytest.mark.parametrize(
    ("installed", "newer", "expected"),
    [
        ([14, 15, 17], False, 15),
        ([14, 15, 17], True, 15),
        ([14, 17, 18], True, 17),
        ([14, 17], False, None),
        ([14], True, None),
        ([], True, None),
    ],
)
def test_programs_of_the_servers_version_are_preferred(
    installed: list[int], newer: bool, expected: int | None
) -> None:
    folders = {major: Path(f"/{major}") for major in installed}
    if expected is None:
        with pytest.raises(BackupRefusedError, match="postgresql-client-15"):
            programs_for(15, folders, newer=newer)
    else:
        assert programs_for(15, folders, newer=newer) == expected


@pytest.mark.parametrize(
    ("errors", "code", "expected"),
    [
        (b"psql:<stdin>:12: ERROR:  must be owner\nDETAIL:  no", 3, "must be owner"),
        (b"pg_restore: error: could not read.", 1, "could not read"),
        (b"", -9, "psql was ended by signal 9 (Killed)"),
        (b"", 2, "psql ended with code 2"),
        (b"", 0, ""),
    ],
)
def test_failure_of_a_program_is_named(errors: bytes, code: int, expected: str) -> None:
    assert read_failure(io.BytesIO(errors), "psql", code) == expected


def test_settings_file_escapes_what_shells_expand() -> None:
    assert in_lines({"A": "plain", "B": 'a"$b`\\'}) == 'A="plain"\nB="a\\"\\$b\\`\\\\"\n'


def test_settings_file_has_the_variables_of_the_web_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PORT", "8001")
    with settings_file(tmp_path / "settings", replaces=False):
        pass
    assert 'PORT="8001"\n' in (tmp_path / "settings").read_text()
