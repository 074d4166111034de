"""
A copy of the tree in which guards are taken out, one at a time, and its database.

Nothing is ever changed in the tree itself. A copy keeps its database between runs, because building
one costs more than a test does; a guard in a migration gets a new one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from xml.etree import ElementTree

from tests.guards.guard import ROOT, Guard
from tests.guards.verdict import Run, read

# Longer than any test waits for what a guard would have brought about.
LONGEST_TEST_S = 90
LONGEST_RUN_S = 240
# So far from the original's time that what Python compiled of it is not taken for this text.
ANOTHER_TIME_S = 1_000


def files_of_the_tree() -> list[str]:
    """Every file that is, or would be, under version control, as it stands now."""
    listed = subprocess.run(
        [
            "git",
            "-c",
            "safe.directory=*",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = listed.stdout.decode().split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


class Workbench:
    """One copy of the tree. For one guard at a time."""

    def __init__(self, number: int, folder: Path, database_url: str) -> None:
        self._copy = folder / f"copy-{number}"
        self._report = folder / f"report-{number}.xml"
        self._number = number
        self._server_url = database_url
        self._has_database = False
        self._is_over = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        for name in files_of_the_tree():
            there = self._copy / name
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, there)

    def leave(self) -> None:
        """End the run under way, if any, and begin no other."""
        self._is_over.set()
        process = self._process
        if process is not None:
            end_with_all_its_children(process)

    def run_as_built(self, tests: Sequence[str]) -> Run:
        """All of these tests, with every guard in its place."""
        return self._run(tests, [], limit_s=LONGEST_RUN_S * 5, is_as_built=True)

    def run_without(self, guard: Guard) -> Run:
        """The guard's tests, up to the first that fails, with the guard taken out."""
        faults = [fault for change in guard.changes if (fault := change.fault_in(self._copy))]
        if faults:
            return Run(broken=faults[0])
        with self._taken_out(guard) as fault:
            if fault:
                return Run(broken=fault)
            return self._run(
                guard.tests,
                ["-x"],
                limit_s=LONGEST_RUN_S,
                with_new_database=guard.is_in_a_migration,
            )

    @contextmanager
    def _taken_out(self, guard: Guard) -> Iterator[str]:
        """Change the files and put them back; gives why the result is no Python, if it is none."""
        paths = {self._copy / change.file for change in guard.changes}
        as_built = {path: (path.read_text(), path.stat()) for path in paths}
        try:
            fault = ""
            for change in guard.changes:
                path = self._copy / change.file
                text = change.made_in(path.read_text())
                fault = fault or change.fault_of(text)
                path.write_text(text)
                times = as_built[path][1]
                os.utime(path, (times.st_atime, times.st_mtime + ANOTHER_TIME_S))
            yield fault
        finally:
            for path, (text, times) in as_built.items():
                path.write_text(text)
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _run(
        self,
        tests: Sequence[str],
        options: Sequence[str],
        *,
        limit_s: float,
        with_new_database: bool = False,
        is_as_built: bool = False,
    ) -> Run:
        self._report.unlink(missing_ok=True)
        keeps = not with_new_database
        database = [] if with_new_database else ["--reuse-db"]
        if keeps and not self._has_database:
            database.append("--create-db")
        if self._is_over.is_set():
            return Run(broken="it was stopped")
        began = time.monotonic()
        process = self._process = subprocess.Popen(
            [
                *[sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
                *["-p", "no:xdist", "-p", "no:playwright", f"--timeout={LONGEST_TEST_S}"],
                *[f"--junitxml={self._report}", *database, *options, *tests],
            ],
            cwd=self._copy,
            env=self._environment(with_new_database, is_as_built),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            self._has_database = False
            return Run(broken=f"it did not end within {limit_s} s")
        finally:
            # Also what its tests may have left behind when they were cut short.
            end_with_all_its_children(process)
        if keeps:
            self._has_database = True
        seconds = time.monotonic() - began
        try:
            report = ElementTree.parse(self._report)  # noqa: S314 -- written by our own tests
        except (OSError, ElementTree.ParseError):
            tail = said.decode(errors="replace").strip().splitlines()[-3:]
            return Run(broken=f"no report came: {' | '.join(tail)}", seconds=seconds)
        return read(report, seconds)

    def _environment(self, with_new_database: bool, is_as_built: bool) -> dict[str, str]:
        name = f"guards_{self._number}{'_new' if with_new_database else ''}"
        parts = urlsplit(self._server_url)
        environment = {
            **os.environ,
            "DATABASE_URL": urlunsplit(parts._replace(path=f"/{name}")),
            "PYTHONPATH": "",
        }
        if not is_as_built:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        return environment


def end_with_all_its_children(process: subprocess.Popen[bytes]) -> None:
    """End the whole session of a process that we started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
