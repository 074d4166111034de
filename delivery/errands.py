"""
What a worker asks of the provider beside its calls: its lists read, and ours told to it.

In a thread of its own, because a provider may take long to answer; one worker at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from delivery import polling, suppression_push
from delivery.chores import LongChore

_is_on_one = threading.Event()


def _work(is_stopping: Callable[[], bool]) -> bool:
    _is_on_one.set()
    try:
        for errand in (suppression_push.push, polling.poll):
            if not is_stopping():
                errand(is_stopping)
    finally:
        _is_on_one.clear()
    return False


def _is_due() -> bool:
    """
    Whether this worker is on an errand: it finishes what it began. It waits for no other, and a
    provider that does not answer ends an errand by the deadline of its call.
    """
    return _is_on_one.is_set()


ERRANDS = LongChore("errands", _work, _is_due)
