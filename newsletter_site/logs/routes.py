"""Replace paths with routes on log lines: paths of readers' pages contain tokens."""

import logging
from typing import Any

from django.urls import Resolver404, resolve

# gunicorn writes the visitor's address and input into this message.
_REFUSED_BY_GUNICORN = "Invalid request from ip="


def route_of(request: Any) -> str:
    """Return the URL pattern of a request."""
    try:
        match = getattr(request, "resolver_match", None) or resolve(request.path_info)
    except (AttributeError, Resolver404):
        return "an unknown page"
    return f"/{match.route}"


def hide_paths(record: logging.LogRecord) -> None:
    """Replace the paths in a record from Django or gunicorn."""
    request = getattr(record, "request", None)
    if record.name == "gunicorn.error":
        if isinstance(record.msg, str) and record.msg.startswith(_REFUSED_BY_GUNICORN):
            record.msg, record.args = "a request was refused because it is not valid HTTP", ()
        elif isinstance(record.args, tuple):
            record.args = tuple(
                "/…" if isinstance(each, str) and each.startswith("/") else each
                for each in record.args
            )
    elif getattr(request, "path", None) is not None and isinstance(record.args, tuple):
        _hide_path_of(record, request, record.args)


def _hide_path_of(record: logging.LogRecord, request: Any, args: tuple[object, ...]) -> None:
    paths = {request.path}
    if hasattr(request, "get_full_path"):
        paths.add(request.get_full_path())
    # Django escapes letters outside ASCII.
    paths |= {path.encode("unicode_escape").decode("ascii") for path in paths}
    record.args = tuple(
        route_of(request) if isinstance(each, str) and each in paths else each for each in args
    )
