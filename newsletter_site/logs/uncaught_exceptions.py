"""Log uncaught exceptions; outside debug mode, leave out their messages."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any

from django.conf import settings

logger = logging.getLogger(__name__)


def install_exception_hooks() -> None:
    """Log uncaught exceptions and warnings instead of letting Python print them."""
    logging.captureWarnings(capture=True)
    sys.excepthook = _log_end_of_process
    threading.excepthook = partial(
        _log, logging.CRITICAL, "a thread ended with an error", threading.__excepthook__
    )
    sys.unraisablehook = partial(
        _log, logging.ERROR, "an error that cannot be raised", sys.__unraisablehook__
    )


def _is_in_debug() -> bool:
    return not settings.configured or bool(settings.DEBUG)


def _log_end_of_process(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if _is_in_debug() or not isinstance(error, Exception):
        sys.__excepthook__(kind, error, traceback)
    else:
        logger.critical("the process ended with an error", exc_info=(kind, error, traceback))


def _log(level: int, message: str, print_error: Callable[[Any], object], args: Any) -> None:
    if _is_in_debug() or args.exc_value is None:
        print_error(args)
    else:
        exc_info = (args.exc_type, args.exc_value, args.exc_traceback)
        logger.log(level, message, exc_info=exc_info)
