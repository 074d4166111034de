"""How a request that failed stands in the log: what was asked for, what broke, and where."""

from __future__ import annotations

import logging
import traceback
from types import TracebackType

# As `sys.exc_info()` gives it.
Failure = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
# Causes may go round in a circle.
MOST_CAUSES = 5


class FaultFormatter(logging.Formatter):
    """
    Names the route and the kind of fault, and the lines of code that led to it.

    Neither the address nor the words of the fault: a link in mail is a permission, and a database
    repeats in its words what it was given.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 -- logging's name
        """The line itself."""
        request = getattr(record, "request", None)
        match = getattr(request, "resolver_match", None)
        asked = f"{getattr(request, 'method', None) or 'a request for'} "
        asked += f"/{match.route}" if match else "something"
        status = getattr(record, "status_code", 500)
        return f"{self.formatTime(record)} {record.levelname} {asked} was answered {status}"

    def formatException(self, ei: Failure) -> str:  # noqa: N802 -- logging's name
        """The fault's kind and those of its causes, and where it was."""
        _, fault, places = ei
        kinds: list[str] = []
        while fault is not None and len(kinds) < MOST_CAUSES:
            kinds.append(type(fault).__qualname__)
            fault = fault.__cause__ or fault.__context__
        return "\n".join(
            [
                "because of " + ", from ".join(kinds),
                *(
                    f"  {place.filename}:{place.lineno} in {place.name}"
                    for place in traceback.extract_tb(places)
                ),
            ]
        )
