"""Read the log lines that a process writes outside debug mode."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from structlog.contextvars import clear_contextvars

from newsletter_site.logs.log_format import LineFormatter, StderrHandler

Lines = Callable[[], list[dict[str, Any]]]


@contextmanager
def log_lines(*secrets: str) -> Iterator[Lines]:
    """Collect this process's log lines, without the ids that earlier work added."""
    clear_contextvars()
    stream = io.StringIO()
    handler = StderrHandler(stream)
    handler.setFormatter(LineFormatter(shape="json", words=False, secrets=secrets))
    logging.getLogger().addHandler(handler)
    try:
        yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    finally:
        logging.getLogger().removeHandler(handler)
