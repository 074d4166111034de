"""Work that workers do beside sending. Every task may run in several workers at once."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)

ShortTask = Callable[[], object]


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """Work with a thread of its own in every worker. `work(is_stopping)` does what is due next and
    returns whether anything was, soon after `is_stopping()`; `is_due()` says if more is."""

    name: str
    work: Callable[[Callable[[], bool]], bool]
    is_due: Callable[[], bool]


_short_tasks: dict[str, tuple[ShortTask, Callable[[], bool]]] = {}
_background_tasks: dict[str, BackgroundTask] = {}


def register_task(name: str, task: ShortTask, is_due: Callable[[], bool] = lambda: False) -> None:
    """Have every worker run `task` every few seconds, and continue a drain while `is_due()`."""
    _short_tasks[name] = task, is_due


def register_background_task(task: BackgroundTask) -> None:
    """Have every worker run `task` in a thread. The same name again replaces it."""
    _background_tasks[task.name] = task


def background_tasks() -> list[BackgroundTask]:
    """Return the registered tasks that have threads of their own."""
    return list(_background_tasks.values())


def is_any_due() -> bool:
    """Whether any task still has work to do. Asks the database."""
    short = (is_due() for _, is_due in _short_tasks.values())
    return any(short) or any(task.is_due() for task in _background_tasks.values())


def _log_failure(message: str, error: Exception) -> None:
    logger.error(message, exc_info=error)


def run_all(report: Callable[[str, Exception], None] = _log_failure) -> None:
    """Run every short task once. One that fails is reported, and the others still run."""
    for name, (task, _) in _short_tasks.items():
        try:
            task()
        except Exception as error:  # noqa: BLE001 -- reported, and tried again
            report(failure_message(name), error)


def failure_message(name: str) -> str:
    """The log line of a task that failed."""
    return f"background task {name} failed; it is tried again"
