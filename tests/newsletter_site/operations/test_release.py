"""Homing finds its release and commit in an archive, an image or a checkout."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from newsletter_site.operations.release import find_commit, running_release, version_of
from tests.newsletter_site.read_settings import ROOT

pytestmark = pytest.mark.process
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "safe.directory=*", "-c", "user.name=A", "-c", "user.email=a@b", *words]
    return subprocess.check_output(command, cwd=folder, text=True)


@pytest.mark.parametrize(
    ("changelog", "version"),
    [
        ("# Changelog\n\n## 1.1, 2027-01-02\n\n## 1.0, 2026-11-26\n", "1.1"),
        ("# Changelog\n\n## Unreleased\n\n## 1.0, 2026-11-26\n", "1.0+unreleased"),
        ("# Changelog\n\n## Unreleased\n", "unreleased"),
        ("", "unknown"),
    ],
)
def test_version_is_the_newest_heading_of_the_changelog(changelog: str, version: str) -> None:
    assert version_of(changelog) == version


def test_commit_of_a_checkout_that_belongs_to_another_user(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "one")
    if os.geteuid() == 0:
        for path in (tmp_path, *tmp_path.rglob("*")):
            os.chown(path, 12345, 12345)
    head = git(tmp_path, "rev-parse", "HEAD").strip()
    assert find_commit(tmp_path, "$Format:%H$") == head[:12]
    (tmp_path / "COMMIT").write_text(f"{COMMIT}\n")
    assert find_commit(tmp_path, "$Format:%H$") == COMMIT[:12]
    (tmp_path / "COMMIT").write_text("\n")  # an image that was built without a commit
    shutil.rmtree(tmp_path / ".git")
    assert find_commit(tmp_path, "$Format:%H$") == "unknown"


def test_archive_of_the_repository_names_its_commit(tmp_path: Path) -> None:
    paths = ("CHANGELOG.md", ".gitattributes", "newsletter_site/operations/release.py")
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "one")
    archived = git(tmp_path, "archive", "HEAD", paths[-1])
    [found] = re.findall(r'_ARCHIVED_COMMIT = "(.*)"', archived)
    assert find_commit(tmp_path / "elsewhere", found) == git(tmp_path, "rev-parse", "HEAD")[:12]


def test_running_release_has_a_version_and_a_commit() -> None:
    assert re.fullmatch(r"\d+\.\d+(\+unreleased)? \([0-9a-f]{12}\)", str(running_release()))
