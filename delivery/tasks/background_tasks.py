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

Chore = Callable[[], object]


@dataclass(frozen=True, slots=True)
class LongChore:
    """
    `work(is_stopping)` does what is due next and says whether there was anything; it returns soon
    after `is_stopping()` does. `is_due()` says whether there is more of it, here or elsewhere.
    """

    name: str
    work: Callable[[Callable[[], bool]], bool]
    is_due: Callable[[], bool]


_registered: dict[str, tuple[Chore, Callable[[], bool]]] = {}
_long: dict[str, LongChore] = {}


def register(name: str, chore: Chore, is_due: Callable[[], bool] = lambda: False) -> None:
    """
    Have every worker do `chore` every few seconds. The same name again replaces it.

    A worker that drains the queue continues while `is_due()` is true.
    """
    _registered[name] = chore, is_due


def register_long(chore: LongChore) -> None:
    """Have every worker do `chore` in a thread of its own. The same name again replaces it."""
    _long[chore.name] = chore


def long_chores() -> list[LongChore]:
    """All of them."""
    return list(_long.values())


def something_is_due() -> bool:
    """Whether any chore will do something automatically. Asks the database."""
    short = (is_due() for _, is_due in _registered.values())
    return any(short) or any(chore.is_due() for chore in _long.values())


def _tell(what: str, fault: Exception) -> None:
    logger.error(what, exc_info=fault)


def do_all(tell: Callable[[str, Exception], None] = _tell) -> None:
    """Do every chore once. One that fails is told and does not keep the others from theirs."""
    for name, (chore, _) in _registered.items():
        try:
            chore()
        except Exception as fault:  # noqa: BLE001 -- told, and tried again
            tell(failed(name), fault)


def failed(name: str) -> str:
    """What is said of a chore that failed."""
    return f"a chore failed ({name}); it is tried again"
