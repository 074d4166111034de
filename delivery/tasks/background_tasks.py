"""
Chores that a worker also does now and then: publications that are due, imports, polling.

Delivery imports no other app; `newsletter_site/wiring.py` registers them. A chore must be quick or
do a piece at a time, and safe to run in several workers at once. What takes long has a thread of
its own in every worker and is asked to stop when the worker is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)

ShortTask = Callable[[], object]


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """
    `work(is_stopping)` does what is due next and says whether there was anything; it returns soon
    after `is_stopping()` does. `is_due()` says whether there is more of it, here or elsewhere.
    """

    name: str
    work: Callable[[Callable[[], bool]], bool]
    is_due: Callable[[], bool]


_short_tasks: dict[str, tuple[ShortTask, Callable[[], bool]]] = {}
_background_tasks: dict[str, BackgroundTask] = {}


def register_task(name: str, chore: ShortTask, is_due: Callable[[], bool] = lambda: False) -> None:
    """
    Have every worker do `chore` every few seconds. The same name again replaces it.

    A worker that drains the queue continues while `is_due()` is true.
    """
    _short_tasks[name] = chore, is_due


def register_background_task(chore: BackgroundTask) -> None:
    """Have every worker do `chore` in a thread of its own. The same name again replaces it."""
    _background_tasks[chore.name] = chore


def background_tasks() -> list[BackgroundTask]:
    """All of them."""
    return list(_background_tasks.values())


def is_any_due() -> bool:
    """Whether any chore will do something automatically. Asks the database."""
    short = (is_due() for _, is_due in _short_tasks.values())
    return any(short) or any(chore.is_due() for chore in _background_tasks.values())


def _log_failure(what: str, fault: Exception) -> None:
    logger.error(what, exc_info=fault)


def run_all(tell: Callable[[str, Exception], None] = _log_failure) -> None:
    """Do every chore once. One that fails is told and does not keep the others from theirs."""
    for name, (chore, _) in _short_tasks.items():
        try:
            chore()
        except Exception as fault:  # noqa: BLE001 -- told, and tried again
            tell(failure_message(name), fault)


def failure_message(name: str) -> str:
    """What is said of a chore that failed."""
    return f"a chore failed ({name}); it is tried again"
