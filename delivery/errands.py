"""
What a worker asks of the provider beside its calls: its lists read, and ours told to it.

In a thread of its own, because a provider may take long to answer; one worker at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from delivery import polling, suppression_push
from delivery.chores import LongChore


def _work(is_stopping: Callable[[], bool]) -> bool:
    for errand in (suppression_push.push, polling.poll):
        if not is_stopping():
            errand(is_stopping)
    return False


def _is_due() -> bool:
    """Nobody waits for them: a provider that does not answer must not keep a worker from ending."""
    return False


ERRANDS = LongChore("errands", _work, _is_due)
