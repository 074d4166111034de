"""The work that workers do besides sending.

Several workers may run a task at the same time.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

logger = logging.getLogger(__name__)

ShortTask = Callable[[], object]
# Rows that make a task due, one query for each table.
Waiting = Callable[[], Sequence[QuerySet[Any, Any]]]


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """Work with its own thread in every worker.

    `work(is_stopping)` does the next due work, returns whether there was any, and ends soon after
    `is_stopping()` is true. The work is due while `waiting()` selects rows. Without `waiting`, the
    work is tried every `every_s` seconds, and a drain waits for the work while `is_busy()`.
    """

    name: str
    work: Callable[[Callable[[], bool]], bool]
    waiting: Waiting | None = None
    every_s: float | None = None
    is_busy: Callable[[], bool] = lambda: False

    def is_due(self) -> bool:
        """Whether work of this task is due. Queries the database."""
        if self.waiting is None:
            return self.is_busy()
        return any(rows.exists() for rows in self.waiting())


@dataclass(frozen=True, slots=True)
class _Short:
    task: ShortTask
    is_due: Callable[[], bool]
    every: int


_short_tasks: dict[str, _Short] = {}
_background_tasks: dict[str, BackgroundTask] = {}


def register_task(
    name: str, task: ShortTask, is_due: Callable[[], bool] = lambda: False, *, every: int = 1
) -> None:
    """Have every worker run `task` in each round, or in each `every`-th round.

    A round takes a few seconds. A drain does not end while `is_due()` returns True.
    """
    _short_tasks[name] = _Short(task, is_due, every)


def register_background_task(task: BackgroundTask) -> None:
    """Have every worker run `task` in a thread. A task of the same name is replaced."""
    _background_tasks[task.name] = task


def background_tasks() -> list[BackgroundTask]:
    """Return the registered tasks that have their own threads."""
    return list(_background_tasks.values())


def find_due() -> set[str]:
    """Return the names of the tasks with waiting rows, in one query."""
    tasks = [(task.name, task.waiting()) for task in background_tasks() if task.waiting]
    if not tasks:
        return set()
    conditions, values = [], []
    for _, tables in tasks:
        found = [rows.query.exists().sql_with_params() for rows in tables]
        conditions.append(" OR ".join(f"EXISTS ({sql})" for sql, _ in found))
        values += [value for _, parameters in found for value in parameters]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(conditions)}", values)
        row = cursor.fetchone()
    return {name for (name, _), is_due in zip(tasks, row, strict=True) if is_due}


def is_any_due() -> bool:
    """Whether any task has work to do. Queries the database."""
    short = (each.is_due() for each in _short_tasks.values())
    return any(short) or any(task.is_due() for task in _background_tasks.values())


def _log_failure(message: str, error: Exception) -> None:
    logger.error(message, exc_info=error)


def run_all(
    report: Callable[[str, Exception], None] = _log_failure,
    *,
    round_: int = 0,
    is_stopping: Callable[[], bool] = lambda: False,
) -> None:
    """Run the short tasks that are due in this round; round 0 runs all tasks.

    A task that fails is logged, and the others still run, unless the worker stops.
    """
    for name, short in _short_tasks.items():
        if is_stopping():
            return
        if round_ % short.every:
            continue
        try:
            short.task()
        except Exception as error:  # noqa: BLE001 -- reported, and tried again
            report(failure_message(name), error)


def failure_message(name: str) -> str:
    """Write the log line of a task that failed."""
    return f"background task {name} failed and is tried again"
