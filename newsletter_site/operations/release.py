"""The version and the commit of the running code, found without Django's settings."""

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
UNKNOWN = "unknown"
# `git archive` replaces this text with the commit, also in archives that a site such as GitHub
# offers (.gitattributes).
_ARCHIVED_COMMIT = "$Format:%H$"
_SHOWN_DIGITS = 12
_GIT_TIMEOUT_S = 5


class Release(NamedTuple):
    """A version such as `1.0` or `1.0+unreleased`, and a short commit."""

    version: str
    commit: str

    def __str__(self) -> str:
        return f"{self.version} ({self.commit})"


@cache
def running_release() -> Release:
    """Return the release of this checkout or image; look it up once in each process."""
    return Release(version_of(_read(ROOT / "CHANGELOG.md")), find_commit(ROOT, _ARCHIVED_COMMIT))


def _read(file: Path) -> str:
    return file.read_text() if file.is_file() else ""


def version_of(changelog: str) -> str:
    """Return the newest release in the changelog, with a mark for unreleased changes."""
    headings = re.findall(r"^## ([^,\s]+)", changelog, re.MULTILINE)
    if headings[:1] == ["Unreleased"]:
        return "+".join([*headings[1:2], "unreleased"])
    return headings[0] if headings else UNKNOWN


def find_commit(root: Path, archived: str) -> str:
    """Return the commit of an archive, an image (its file COMMIT) or a checkout."""
    for found in (archived, _read(root / "COMMIT").strip()):
        if re.fullmatch(r"[0-9a-f]{7,64}", found):
            return found[:_SHOWN_DIGITS]
    # Ask git only if the folder has a `.git`: a folder without it may be inside the checkout of
    # another project.
    return _commit_of_checkout(root) if (root / ".git").exists() else UNKNOWN


def _commit_of_checkout(root: Path) -> str:
    # Name the repository. Without --git-dir, git would refuse a checkout that another
    # user owns, and the variable GIT_DIR could name another repository.
    command = ["git", f"--git-dir={root}/.git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
    return done.stdout.strip()[:_SHOWN_DIGITS]
