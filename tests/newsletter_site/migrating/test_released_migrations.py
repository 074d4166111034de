"""Released migrations are unchanged, compared with the checkout's history."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.newsletter_site.migrating.releases import Release, releases
from tests.newsletter_site.read_settings import ROOT

pytestmark = pytest.mark.process


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.name)
def test_released_migrations_are_unchanged(release: Release) -> None:
    for app, name in release.last_migrations:
        assert (ROOT / "migrations" / app / f"{name}.py").is_file()
    assert changed_since(release, ROOT) == []
    assert dict(release.last_migrations) == last_migrations_of(release, ROOT)


def test_a_released_migration_that_changed_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "migrations" / "delivery"
    folder.mkdir(parents=True)
    for name in ("0001_tables", "0002_rules"):
        (folder / f"{name}.py").write_text("operations = []\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, *identity, "commit", "--quiet", "--message", "Release it")
    (commit,) = git(tmp_path, "rev-parse", "HEAD")
    release = Release("1.0", commit, (("delivery", "0002_rules"),))

    (folder / "0003_later.py").write_text("operations = []\n")
    assert changed_since(release, tmp_path) == []
    assert last_migrations_of(release, tmp_path) == {"delivery": "0002_rules"}

    (folder / "0001_tables.py").write_text("operations = [1]\n")
    assert changed_since(release, tmp_path) == ["migrations/delivery/0001_tables.py"]


def changed_since(release: Release, checkout: Path) -> list[str]:
    """Return the migrations of a release that were changed, moved or deleted."""
    command = ("diff", "--name-only", "--diff-filter=DMR", release.commit, "--", "migrations/*/*")
    return git(checkout, *command)


def last_migrations_of(release: Release, checkout: Path) -> dict[str, str]:
    """Return the last migration of each app at the release's commit."""
    last = {}
    paths = git(checkout, "ls-tree", "-r", "--name-only", release.commit, "migrations")
    for path in sorted(paths):
        _, app, *file = path.split("/")
        if file and file[0][0].isdigit():
            last[app] = file[0].removesuffix(".py")
    return last


def git(checkout: Path, *arguments: str) -> list[str]:
    """Return the words of git's output. If git fails, skip the test; in CI, fail it."""
    command = ["git", "-c", "safe.directory=*", *arguments]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "This checkout lacks its history, from which the test reads the released migrations. "
            f"Clone the full history to run the test ({done.stderr.strip()})."
        )
    return done.stdout.split()
