"""Programs of the distribution that some tests and proofs need."""

import os
import shutil

import pytest


def find_program(name: str) -> str | None:
    """Return the path of a program, or None if it is not installed."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def program(name: str, *, package: str) -> str:
    """Return the path of a program; if it is missing, skip the test, or fail in CI."""
    found = find_program(name)
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            f"{name} was not found. To run this test, install the package {package}."
        )
    return found
