"""
What a worker asks of the provider beside its calls: its lists read, and ours told to it.

In a thread of its own, because a provider may take long to answer; one worker at a time.
"""

import threading
from collections.abc import Callable

from delivery.feedback import polling, suppression_push
from delivery.tasks.background_tasks import BackgroundTask

_is_busy = threading.Event()


def _work(is_stopping: Callable[[], bool]) -> bool:
    _is_busy.set()
    try:
        for task in (suppression_push.push, polling.poll):
            if not is_stopping():
                task(is_stopping)
    finally:
        _is_busy.clear()
    return False


def _is_due() -> bool:
    """
    Whether this worker runs one of these tasks: it finishes what it began.

    It does not wait for the tasks of other workers. If the provider does not answer, the deadline
    of the call ends the task.
    """
    return _is_busy.is_set()


PROVIDER_TASKS = BackgroundTask("provider tasks", _work, _is_due)
