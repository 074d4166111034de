"""
Chores that a worker also does now and then: publications that are due, imports, polling.

Delivery imports no other app; `newsletter_site/wiring.py` registers them. A chore must be quick or
do a piece at a time, and safe to run in several workers at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

Chore = Callable[[], object]
_registered: dict[str, Chore] = {}


def register(name: str, chore: Chore) -> None:
    """Have every worker do `chore` every few seconds. The same name again replaces it."""
    _registered[name] = chore


def do_all() -> None:
    """Do every chore once. One that fails is logged and does not keep the others from theirs."""
    for name, chore in _registered.items():
        try:
            chore()
        except Exception:
            logger.exception("the chore “%s” failed; it is tried again", name)
