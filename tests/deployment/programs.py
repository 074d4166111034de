"""The programs of the distribution that read the files of deployment."""

from __future__ import annotations

import os
import shutil

import pytest


def program(name: str, *, package: str) -> str:
    """Where a program is; without it the test is skipped and says so, and fails in CI."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            f"No {name} was found on this machine, and this test uses it: install the package "
            f"{package} to run it too."
        )
    return found
