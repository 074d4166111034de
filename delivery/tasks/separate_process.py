"""Use a separate process for tasks that read files of strangers.

A file that takes too much memory or time ends only the separate process, which sends no mail. The
kernel enforces the limits of that process. A thread of the worker waits for the process and records
how it ended.
"""

import logging
import math
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from django.conf import settings

logger = logging.getLogger(__name__)

MEMORY = 150 * 1024 * 1024  # bytes, in addition to the bytes that the process has before it begins
STEP_CPU_S = 300  # seconds of CPU time from one call of `is_stopping` to the next
# If one of these signals ended the process, the file is not at fault.
_STOPPED = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_LOOK_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class SeparateTask:
    """Work that claims tasks as `owner`, in a separate process.

    `work(owner, is_stopping)` does the next due work, returns whether there was any, and calls
    `is_stopping` after each step. `is_claimable()` says whether there is unclaimed work.
    `refuse(owner)` ends the task that this owner has claimed, because the task exceeded the limits.
    """

    name: str
    work: Callable[[UUID, Callable[[], bool]], bool]
    is_claimable: Callable[[], bool]
    refuse: Callable[[UUID], None]


class SeparateProcessError(Exception):
    """The process failed, but not because it reached its limits. The log says why."""


_tasks: dict[str, SeparateTask] = {}


def register_separate_task(task: SeparateTask) -> None:
    """Register a task. A task of the same name is replaced."""
    _tasks[task.name] = task


def run_separately(name: str, is_stopping: Callable[[], bool]) -> bool:
    """Run due work in a process and wait for its end; False if nothing is due.

    If the process exceeds its limits, the task is refused. Raises `SeparateProcessError`.
    """
    task = _tasks[name]
    if is_stopping() or not task.is_claimable():
        return False
    owner = uuid4()
    process = subprocess.Popen(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "run_task", name, owner.hex],
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None  # noqa: S101
    # The separate process stops when this pipe closes. The pipe also closes if this process is
    # killed.
    with process.stdin:
        while not is_stopping():
            try:
                process.wait(_LOOK_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                continue
    code = process.wait()
    if code < 0 and -code not in _STOPPED:
        logger.error("signal %d ended the process of the task %s; its file is refused", -code, name)
        task.refuse(owner)
    elif code > 0:
        raise SeparateProcessError(f"the process of the task {name} ended with exit code {code}")
    return True


def run_here(name: str, owner: UUID) -> None:
    """Do all due work in this process, until its standard input ends."""
    task = _tasks[name]
    stopping = threading.Event()

    def await_end() -> None:
        os.read(0, 1)
        stopping.set()

    # The worker alone decides when this process stops.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=await_end, daemon=True).start()

    def is_stopping() -> bool:
        _allow_cpu_time()
        return stopping.is_set()

    try:
        limit_memory()
        while not is_stopping() and task.work(owner, is_stopping):
            pass
    except MemoryError:
        logger.exception("the task %s exceeded its memory", name)
        # The signal makes the worker refuse the file, as when a library ends the process for lack
        # of memory.
        os.kill(os.getpid(), signal.SIGKILL)


def limit_memory() -> None:
    """Let this process use `MEMORY` bytes more than now. Does nothing outside Linux."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        used = 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmData"))
        resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))


def _allow_cpu_time() -> None:
    """Let this process use `STEP_CPU_S` more CPU time before the kernel ends it."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    # The limit is rounded up, because rounding down could give a step up to a second less.
    most = math.ceil(spent.ru_utime + spent.ru_stime) + STEP_CPU_S
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))
