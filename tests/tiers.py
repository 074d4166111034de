"""Choose the tests of a tier: quick, all or changed (docs/testing.md).

A file whose tests start a process other than PostgreSQL has `pytestmark = pytest.mark.process`.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
# Every test in these folders may start processes.
PROCESS_FOLDERS = ("browser", "crash_points", "deployment", "faults")
# The tests of the package `api` are in the folders of these packages.
USERS_OF_API = {"newsletter_site", "publishing", "subscribers"}
# Folders of templates that are not named after a package, with their packages.
TEMPLATES_OF = {
    "admin": "newsletter_site",
    "archive": "publishing",
    "mail": "delivery",
    "registration": "newsletter_site",
    "sign_in": "newsletter_site",
    "tokens": "newsletter_site",
}
PROCESS_FILE = re.compile(rb"^pytestmark = .*pytest\.mark\.process\b", re.MULTILINE)
# Commands of PostgreSQL. The last command checks whether the server's user may enter a folder.
POSTGRESQL = {"postgres", "initdb", "pg_ctl", "pg_dump", "pg_restore", "psql", 'cd -- "$1"'}

_started: list[str] = []
_packages: set[str] = set()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that `./homing test` passes to pytest."""
    group = parser.getgroup("tiers")
    group.addoption(
        "--quick", action="store_true", help="only tests that start no process except PostgreSQL"
    )
    group.addoption(
        "--changed",
        action="store_true",
        help="only quick tests of packages with uncommitted changes",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `process`, and record every process that is started."""
    config.addinivalue_line("markers", "process: starts a process other than PostgreSQL")
    sys.addaudithook(_watch)
    if config.getoption("changed"):
        _packages.update(changed_packages())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of another tier, unless they are named on the command line."""
    if not (config.getoption("quick") or config.getoption("changed")):
        return None
    if TESTS not in collection_path.parents:
        return None
    package = collection_path.relative_to(TESTS).parts[0]
    if package in PROCESS_FOLDERS or (config.getoption("changed") and package not in _packages):
        return True
    return (collection_path.is_file() and starts_processes(collection_path)) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark process tests, and put them first."""
    files = {path: starts_processes(path) for path in {item.path for item in items}}
    for item in items:
        if files[item.path]:
            item.add_marker(pytest.mark.process)
    yield
    # Keep the tests of a file together, so that module fixtures are created once. Put the slowest
    # kinds of tests first, so that no core waits for one long file at the end.
    with_database = {item.path for item in items if _needs_database(item)}
    items.sort(key=lambda item: (not files[item.path], item.path not in with_database))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Forget earlier processes before any fixture of a test starts a process."""
    _started.clear()
    return (yield)


@pytest.fixture(autouse=True)
def no_process_is_started(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that starts a process although its file is not marked `process`."""
    yield
    if request.node.get_closest_marker("process") is None and _started:
        pytest.fail(
            f"This test started {_started[0]!r}, but its file is not marked as one that starts "
            "processes. Add `pytestmark = pytest.mark.process` to it, or run the code in-process.",
            pytrace=False,
        )


def starts_processes(path: Path) -> bool:
    """Return whether the tests of a file start processes other than PostgreSQL."""
    if path.is_relative_to(TESTS) and path.relative_to(TESTS).parts[0] in PROCESS_FOLDERS:
        return True
    return path.suffix == ".py" and PROCESS_FILE.search(path.read_bytes()) is not None


def changed_packages() -> set[str]:
    """Return the packages with changed, added or deleted files since the commit."""
    command = ["git", "-c", "safe.directory=*", "status", "--porcelain", "--no-renames", "-z"]
    listed = subprocess.run(
        [*command, "--untracked-files=all"], cwd=ROOT, capture_output=True, check=True
    )
    paths = [Path(entry[3:]) for entry in listed.stdout.decode().split("\0") if entry]
    packages = set()
    for path in paths:
        is_grouped = path.parts[0] in ("tests", "migrations", "templates")
        within = path.parts[1:] if is_grouped else path.parts
        if len(within) > 1 and within[0] not in ("requirements", "static"):
            packages.add(TEMPLATES_OF.get(within[0], within[0]))
        elif path.suffix != ".md":
            # A change of settings, shared templates or fixtures affects every package.
            return {folder.name for folder in TESTS.iterdir() if folder.is_dir()}
    return packages | (USERS_OF_API if "api" in packages else set())


def _needs_database(item: pytest.Item) -> bool:
    return "django_db_setup" in getattr(item, "fixturenames", ()) or bool(
        item.get_closest_marker("django_db")
    )


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen":
        command: Any = arguments[1]
        words = [command] if isinstance(command, str | bytes | os.PathLike) else command
        if {Path(os.fsdecode(word)).name for word in words}.isdisjoint(POSTGRESQL):
            _started.append(str(command)[:200])
    elif event in ("os.fork", "os.forkpty", "os.posix_spawn", "os.system"):
        _started.append(event)
