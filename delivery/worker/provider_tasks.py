"""Poll the provider, and send it suppression changes, in a separate thread."""

import threading
from collections.abc import Callable

from delivery.feedback import lift_for_mail, poll_provider, send_suppression_changes
from delivery.tasks.register_background_task import BackgroundTask

EVERY_S = 5.0
_is_busy = threading.Event()


def _work(is_stopping: Callable[[], bool]) -> bool:
    _is_busy.set()
    try:
        for task in (
            send_suppression_changes.push_suppression_changes,
            lift_for_mail.resend_lifted,
            poll_provider.poll,
        ):
            if not is_stopping():
                task(is_stopping)
    finally:
        _is_busy.clear()
    return False


# The tasks count as due while this worker runs one of them, so a drain waits for its end.
PROVIDER_TASKS = BackgroundTask("provider tasks", _work, every_s=EVERY_S, is_busy=_is_busy.is_set)
