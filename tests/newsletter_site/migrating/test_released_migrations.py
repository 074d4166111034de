"""Released migrations and functions are unchanged since their commit."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.newsletter_site.migrating.releases import Release, releases
from tests.newsletter_site.read_settings import ROOT

pytestmark = pytest.mark.process


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.name)
def test_released_migrations_are_unchanged(release: Release) -> None:
    for app, name in release.last_migrations:
        folder = "idempotency/migrations" if app == "idempotency" else f"migrations/{app}"
        assert (ROOT / folder / f"{name}.py").is_file()
    assert changed_since(release, ROOT) == []
    assert dict(release.last_migrations) == last_migrations_of(release, ROOT)
    assert changed_sql_since(release, ROOT) == []


def test_a_changed_migration_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "migrations" / "delivery"
    folder.mkdir(parents=True)
    (folder / "0001_tables.py").write_text("operations = []\n")
    release = Release("1.0", committed(tmp_path), ())
    (folder / "0002_later.py").write_text("operations = []\n")
    assert changed_since(release, tmp_path) == []
    assert last_migrations_of(release, tmp_path) == {"delivery": "0001_tables"}

    (folder / "0001_tables.py").write_text("operations = [1]\n")
    assert changed_since(release, tmp_path) == ["migrations/delivery/0001_tables.py"]


def test_a_changed_function_gets_a_new_name_and_migration(tmp_path: Path) -> None:
    path = "delivery/queue/sql/count.sql"
    file, later = tmp_path / path, tmp_path / "migrations" / "delivery" / "0002_later.py"
    for folder in (file.parent, later.parent):
        folder.mkdir(parents=True)
    function = "CREATE OR REPLACE FUNCTION {}() RETURNS int LANGUAGE sql AS $$ SELECT {} $$;\n"
    file.write_text(function.format("count_1", 1))
    release = Release("1.0", committed(tmp_path), ())
    assert changed_sql_since(release, tmp_path) == []

    file.write_text("-- Counts.\n" + function.format("count_1", 2))
    not_run = f"{path}: run it in a new migration"
    in_place = f"{path}: count_1 was released; give the changed function the next number"
    assert changed_sql_since(release, tmp_path) == [not_run, in_place]

    file.write_text(function.format("count_2", 2))
    assert changed_sql_since(release, tmp_path) == [not_run]

    later.write_text(f'operations = [SqlFile("{path}")]\n')
    committed(tmp_path)
    assert changed_sql_since(release, tmp_path) == []


def changed_sql_since(release: Release, checkout: Path) -> list[str]:
    """Describe each forbidden change of functions and triggers since a release."""
    found = []
    new = git(
        checkout, "diff", "--name-only", "--diff-filter=A", release.commit, "--", "migrations"
    )
    migrations = "".join((checkout / path).read_text() for path in new.split())
    changed = git(
        checkout, "diff", "--name-only", "--diff-filter=AM", release.commit, "--", "*/sql/*.sql"
    )
    for path in changed.split():
        if f'"{path}"' not in migrations:
            found.append(f"{path}: run it in a new migration")
        before = git(checkout, "ls-tree", "--name-only", release.commit, path) and git(
            checkout, "show", f"{release.commit}:{path}"
        )
        was, now = functions_in(before), functions_in((checkout / path).read_text())
        found += [
            f"{path}: {name} was released; give the changed function the next number"
            for name in sorted(was.keys() & now.keys())
            if was[name] != now[name]
        ]
    return found


def functions_in(sql: str) -> dict[str, str]:
    """Return the functions with a number in their names, and leave out comments."""
    sql = re.sub(r"--.*", "", sql)
    found = re.finditer(r"FUNCTION (\w+_\d+)\(.*?\$\$.*?\$\$;", sql, re.DOTALL)
    return {match[1]: " ".join(match[0].split()) for match in found}


def committed(folder: Path) -> str:
    """Commit all files, and return the commit."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, *identity, "commit", "--quiet", "--message", "Release it")
    return git(folder, "rev-parse", "HEAD").strip()


def changed_since(release: Release, checkout: Path) -> list[str]:
    """Return the migrations of a release that were changed, moved or deleted."""
    command = ("diff", "--name-only", "--diff-filter=DMR", release.commit, "--")
    return git(checkout, *command, "migrations/*/*", "idempotency/migrations/*").split()


def last_migrations_of(release: Release, checkout: Path) -> dict[str, str]:
    """Return the last migration of each app at the release's commit."""
    last = {}
    for path in sorted(git(checkout, "ls-tree", "-r", "--name-only", release.commit).split()):
        if found := re.fullmatch(
            r"(?:migrations/(\w+)|(idempotency)/migrations)/(\d\w+)\.py", path
        ):
            last[found[1] or found[2]] = found[3]
    return last


def git(checkout: Path, *arguments: str) -> str:
    """Return git's output. If git fails, skip the test; in CI, fail it."""
    command = ["git", "-c", "safe.directory=*", *arguments]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "This checkout lacks its history, from which the test reads the released migrations. "
            f"Clone the full history to run the test ({done.stderr.strip()})."
        )
    return done.stdout
