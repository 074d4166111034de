"""Describe the environment of a measurement: machine, programs, database, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from benchmarks.site.own_server import own_server
from benchmarks.site.provider_process import ROOT
from newsletter_site.embedded_postgres import database_url

# Settings that make a database faster through more memory or weaker guarantees.
SETTINGS = (
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "jit",
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Facts needed to compare figures from different days or machines."""

    cpu: str
    cores: int
    memory_gb: float
    kernel: str
    python: str
    postgresql: str
    settings: Mapping[str, str]
    commit: str
    began_at: datetime
    load: float
    load_after: float | None = None

    def lines(self) -> list[str]:
        """Return the facts as lines for the end of a table."""
        machine = f"{self.cpu}, {self.cores} cores, {self.memory_gb:.0f} GB, {self.kernel}"
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        began_at = f"{self.began_at:%Y-%m-%d %H:%M}"
        after = "" if self.load_after is None else f" and {self.load_after:.1f} at the end"
        return [
            f"{machine}; everything on this one machine",
            f"Python {self.python}, PostgreSQL {self.postgresql}: {settings}",
            f"commit {self.commit}, {began_at} UTC, load {self.load:.1f} before{after}",
        ]

    def at_the_end(self) -> Surroundings:
        """Add the load of the last minute, which includes the load of the measurement."""
        return replace(self, load_after=os.getloadavg()[0])


def surroundings() -> Surroundings:
    """Describe this machine and a database server that is started as for measurements."""
    # Record the load of the minute before the measurement, because other programs disturb it.
    load = os.getloadavg()[0]
    version, settings = _postgresql()
    return Surroundings(
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1,
        memory_gb=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30,
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        postgresql=version,
        settings=settings,
        commit=_commit(),
        began_at=datetime.now(UTC),
        load=load,
    )


def _postgresql() -> tuple[str, dict[str, str]]:
    with own_server() as folder, psycopg.connect(database_url(folder)) as connection:

        def setting(name: str) -> str:
            row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
            assert row is not None
            return str(row[0])

        # A distribution adds its name to the version, as in “15.18 (Debian 15.18-0+deb12u1)”.
        version = setting("server_version")
        return version, {name: setting(name) for name in SETTINGS}


def _cpu() -> str:
    """Return the name of the CPU model, if the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _commit() -> str:
    """Return the measured commit, and whether files differ from it."""

    def git(*words: str) -> str:
        command = ["git", "-c", "safe.directory=*", *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        commit = git("rev-parse", "--short=10", "HEAD")
        changed = git("status", "--porcelain")
    except OSError:
        return "unknown"
    return (commit or "unknown") + (" + changes" if changed else "")
