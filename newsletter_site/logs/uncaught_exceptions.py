"""
What nothing catches is logged like every other fault: outside debug without its words.

Python itself would print them, to the same place as the log, and with them whatever the database
or a library repeats of what it was given.
"""

from __future__ import annotations

import logging
import sys
import threading
from types import TracebackType

from django.conf import settings

logger = logging.getLogger(__name__)


def install_exception_hooks() -> None:
    """Take over from Python where it would print a traceback or a warning."""
    logging.captureWarnings(capture=True)
    sys.excepthook = _ends_the_process
    threading.excepthook = _ends_a_thread
    sys.unraisablehook = _cannot_be_raised


def _is_for_a_developer() -> bool:
    return not settings.configured or bool(settings.DEBUG)


def _ends_the_process(
    kind: type[BaseException], error: BaseException, places: TracebackType | None
) -> None:
    if _is_for_a_developer() or not isinstance(error, Exception):
        sys.__excepthook__(kind, error, places)
        return
    logger.critical("the process ends by a fault", exc_info=(kind, error, places))


def _ends_a_thread(told: threading.ExceptHookArgs) -> None:
    if _is_for_a_developer() or told.exc_value is None:
        threading.__excepthook__(told)
        return
    logger.critical(
        "a thread ends by a fault", exc_info=(told.exc_type, told.exc_value, told.exc_traceback)
    )


def _cannot_be_raised(told: sys.UnraisableHookArgs) -> None:
    if _is_for_a_developer() or told.exc_value is None:
        sys.__unraisablehook__(told)
        return
    logger.error(
        "a fault where none can be raised",
        exc_info=(told.exc_type, told.exc_value, told.exc_traceback),
    )
