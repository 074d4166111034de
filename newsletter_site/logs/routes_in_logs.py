"""Replace paths by routes in log lines, because readers' paths contain tokens."""

import logging
import re
from typing import Any

from django.urls import Resolver404, resolve

# In its log messages, waitress writes the path after these words.
_OF_WAITRESS = re.compile(r"((?:Exception|Client disconnected) while serving ).*", re.DOTALL)


def route_of(request: Any) -> str:
    """Return the URL pattern of a request."""
    try:
        match = getattr(request, "resolver_match", None) or resolve(request.path_info)
    except (AttributeError, Resolver404):
        return "an unknown page"
    return f"/{match.route}"


def hide_paths(record: logging.LogRecord) -> None:
    """Replace the paths in a record from Django or waitress."""
    request = getattr(record, "request", None)
    if record.name == "waitress":
        record.msg = _OF_WAITRESS.sub(r"\1a page", str(record.msg))
    elif getattr(request, "path", None) is not None and isinstance(record.args, tuple):
        _hide_path_of(record, request, record.args)


def _hide_path_of(record: logging.LogRecord, request: Any, args: tuple[object, ...]) -> None:
    paths = {request.path}
    if hasattr(request, "get_full_path"):
        paths.add(request.get_full_path())
    # Also search for the escaped form, because Django escapes letters outside ASCII.
    paths |= {path.encode("unicode_escape").decode("ascii") for path in paths}
    record.args = tuple(
        route_of(request) if isinstance(each, str) and each in paths else each for each in args
    )
