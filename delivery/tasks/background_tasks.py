"""Work that workers do apart from sending. Several workers may run a task at once."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)

ShortTask = Callable[[], object]


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """Work with its own thread in every worker.

    `work(is_stopping)` does the next due work, returns whether there was any, and ends soon after
    `is_stopping()`. `is_due()` says whether more is due."""

    name: str
    work: Callable[[Callable[[], bool]], bool]
    is_due: Callable[[], bool]


_short_tasks: dict[str, tuple[ShortTask, Callable[[], bool]]] = {}
_background_tasks: dict[str, BackgroundTask] = {}


def register_task(name: str, task: ShortTask, is_due: Callable[[], bool] = lambda: False) -> None:
    """Have every worker run `task` every few seconds.

    A drain continues while `is_due()`."""
    _short_tasks[name] = task, is_due


def register_background_task(task: BackgroundTask) -> None:
    """Have every worker run `task` in a thread. It replaces a task of the same name."""
    _background_tasks[task.name] = task


def background_tasks() -> list[BackgroundTask]:
    """Return the registered tasks that have their own threads."""
    return list(_background_tasks.values())


def is_any_due() -> bool:
    """Whether any task has work to do. Queries the database."""
    short = (is_due() for _, is_due in _short_tasks.values())
    return any(short) or any(task.is_due() for task in _background_tasks.values())


def _log_failure(message: str, error: Exception) -> None:
    logger.error(message, exc_info=error)


def run_all(report: Callable[[str, Exception], None] = _log_failure) -> None:
    """Run every short task once. One that fails is logged, and the others still run."""
    for name, (task, _) in _short_tasks.items():
        try:
            task()
        except Exception as error:  # noqa: BLE001 -- reported, and tried again
            report(failure_message(name), error)


def failure_message(name: str) -> str:
    """Write the log line of a task that failed."""
    return f"background task {name} failed and is tried again"
