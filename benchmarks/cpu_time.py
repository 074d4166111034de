"""CPU time of a process and its children, as Linux counts it.

The figures include the children that have ended. Linux counts CPU time in steps of 10 ms.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# The positions of fields in /proc/PID/stat, counted after the program's name: the parent, and the
# times utime, stime, cutime and cstime.
_PARENT, _TIMES = 1, slice(11, 15)


def database_server(connection: psycopg.Connection[Any]) -> int:
    """Return the process id of the database server on this machine."""
    return int(_stat(connection.info.backend_pid)[_PARENT])


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and of all its children since its start."""
    return sum(_own_s(each) for each in (pid, *children_of(pid)))


@dataclass(frozen=True, slots=True)
class CpuTime:
    """CPU seconds of the sender, the database and the provider."""

    sender_s: float = 0.0
    database_s: float = 0.0
    provider_s: float = 0.0

    def __sub__(self, other: Self) -> "CpuTime":
        """Return the differences, each at least 0."""
        return CpuTime(
            max(0.0, self.sender_s - other.sender_s),
            max(0.0, self.database_s - other.database_s),
            max(0.0, self.provider_s - other.provider_s),
        )

    @property
    def total_s(self) -> float:
        """Return the CPU seconds of sender and database."""
        return self.sender_s + self.database_s


def timed(connection: psycopg.Connection[Any], work: Callable[[], object]) -> list[float]:
    """Return the seconds of `work`, and the CPU seconds of this process and database."""
    server = database_server(connection)
    began = time.monotonic(), time.process_time(), cpu_s(server)
    work()
    ended = time.monotonic(), time.process_time(), cpu_s(server)
    return [after - before for before, after in zip(began, ended, strict=True)]


def children_of(pid: int) -> Iterator[int]:
    """Yield all running descendants of a process."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = " ".join((thread / "children").read_text() for thread in threads)
    except (FileNotFoundError, ProcessLookupError):
        return  # The process has just ended.
    for child in children.split():
        yield int(child)
        yield from children_of(int(child))


def _own_s(pid: int) -> float:
    """Return the CPU seconds of a process and of its children that have ended."""
    try:
        return sum(map(int, _stat(pid)[_TIMES])) / _TICKS_PER_S
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def _stat(pid: int) -> list[str]:
    # Split after the program's name, which is in parentheses and may contain spaces.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
