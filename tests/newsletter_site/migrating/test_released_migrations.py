"""What was released is still there unchanged, as the history of the checkout has it."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from tests.newsletter_site.migrating.releases import releases
from tests.newsletter_site.read_settings import ROOT

pytestmark = pytest.mark.process


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.name)
def test_what_was_released_is_still_there_unchanged(release: Any) -> None:
    for app, name in release.last_migrations:
        assert (ROOT / "migrations" / app / f"{name}.py").is_file()
    changed = git("diff", "--name-only", "--diff-filter=DMR", release.commit, "--", "migrations")
    assert changed == []
    last = {}
    for path in sorted(git("ls-tree", "-r", "--name-only", release.commit, "migrations")):
        _, app, *file = path.split("/")
        if file and file[0][0].isdigit():
            last[app] = file[0].removesuffix(".py")
    assert dict(release.last_migrations) == last


def git(*arguments: str) -> list[str]:
    """The words that git answers with; without the history there is no test."""
    command = ["git", "-c", "safe.directory=*", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "The history of this checkout is not there, and what was released is read from it: "
            f"clone all of it to run this too ({done.stderr.strip()})."
        )
    return done.stdout.split()
