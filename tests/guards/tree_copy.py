"""Copy the tree, and take out guards in the copy, one at a time.

The tree itself is never changed. Each run of pytest has its own copy of a migrated database
(tests/database), so taking a guard out of the database affects only one run.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.guards.verdict import Case, Run, read
from tests.postgres_cluster import ROOT

# The time limit of a test. Tests wait for the effect of a guard, but never for this long.
LONGEST_TEST_S = 90
LONGEST_RUN_S = 240
# Move the modification time of a changed file by this number of seconds, so that Python does not
# run the bytecode of the original.
ANOTHER_TIME_S = 1_000


def files_of_the_tree() -> list[str]:
    """Return the files that git tracks or would add."""
    others = ["--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", *others],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = listed.stdout.decode().split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


class Workbench:
    """A copy of the tree, for one guard at a time."""

    def __init__(self, number: int, folder: Path, database_url: str) -> None:
        self._copy = folder / f"copy-{number}"
        self._result = folder / f"result-{number}.json"
        self._said = folder / f"said-{number}.txt"
        self._environment = {"DATABASE_URL": database_url, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        self._changes_made = 0
        self._is_over = threading.Event()
        self._run_under_way: int | None = None
        for name in files_of_the_tree():
            there = self._copy / name
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, there)
        self._runs = subprocess.Popen(
            [sys.executable, "-m", "tests.guards.fork_pytest"],
            cwd=self._copy,
            env=os.environ | {"PYTHONPATH": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def leave(self) -> None:
        """End the current run, if there is one, and start no further run."""
        self._is_over.set()
        _end(self._run_under_way)
        _end(self._runs.pid)
        self._runs.communicate()

    def run_as_built(self, tests: Sequence[str]) -> Run:
        """Run these tests in the unchanged copy."""
        return self._run(tests, ["--continue-on-collection-errors"], {}, limit_s=LONGEST_RUN_S * 5)

    def run_without(self, texts: Mapping[str, str], sql: str, tests: Sequence[str]) -> Run:
        """Run these tests without a guard, up to the first failure.

        `texts` are the files without the guard, by path. `sql` takes the guard out of the database.
        """
        environment = {"PYTHONDONTWRITEBYTECODE": "1", "HOMING_TEST_WITHOUT_SQL": sql}
        with self._changed(texts):
            return self._run(tests, ["-x"], environment, limit_s=LONGEST_RUN_S)

    @contextmanager
    def _changed(self, texts: Mapping[str, str]) -> Iterator[None]:
        paths = {self._copy / name: text for name, text in texts.items()}
        as_built = {path: (path.read_bytes(), path.stat()) for path in paths}
        # A child process may cache the bytecode of a changed file, so each change gets another
        # modification time.
        self._changes_made += 1
        later_s = ANOTHER_TIME_S + self._changes_made
        try:
            for path, text in paths.items():
                path.write_text(text)
                times = as_built[path][1]
                os.utime(path, (times.st_atime, times.st_mtime + later_s))
            yield
        finally:
            for path, (content, times) in as_built.items():
                path.write_bytes(content)
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _run(
        self,
        tests: Sequence[str],
        options: Sequence[str],
        environment: Mapping[str, str],
        *,
        limit_s: float,
    ) -> Run:
        if self._is_over.is_set():
            return Run(broken="the program was stopped")
        self._result.unlink(missing_ok=True)
        wish = {
            "arguments": [
                *["-q", "-p", "no:cacheprovider", "-p", "pytest_django.plugin"],
                *["-p", "pytest_timeout", f"--timeout={LONGEST_TEST_S}", *options, *tests],
            ],
            "environment": self._environment | environment,
            "result": str(self._result),
            "said": str(self._said),
        }
        began = time.monotonic()
        assert self._runs.stdin is not None
        assert self._runs.stdout is not None
        self._runs.stdin.write(json.dumps(wish) + "\n")
        self._runs.stdin.flush()
        process = self._run_under_way = int(self._runs.stdout.readline() or 0)
        too_long = threading.Timer(limit_s, _end, [process])
        too_long.start()
        self._runs.stdout.readline()
        too_long.cancel()
        # Also end the processes that interrupted tests left behind.
        _end(process)
        self._run_under_way = None
        seconds = time.monotonic() - began
        if not self._result.exists():
            if seconds >= limit_s:
                return Run(broken=f"it did not end within {limit_s} s", seconds=seconds)
            tail = self._said.read_text(errors="replace").strip().splitlines()[-3:]
            return Run(broken=f"pytest ended early: {' | '.join(tail)}", seconds=seconds)
        cases = [Case(*case) for case in json.loads(self._result.read_text())]
        return read(cases, seconds)


def _end(process: int | None) -> None:
    """Kill a process that we started, and its session."""
    if process:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
