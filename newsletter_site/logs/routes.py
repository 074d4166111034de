"""
The route of a request in place of its address: that of a page for readers is the permission to it.

The only place that knows how Django and gunicorn write addresses into their lines.
"""

from __future__ import annotations

import logging
from typing import Any

from django.urls import Resolver404, ResolverMatch, resolve

# gunicorn puts the visitor's address and what they sent into the sentence itself.
_REFUSED_BY_GUNICORN = "Invalid request from ip="


def route_of(request: Any) -> str:
    """The pattern of the address that was asked for, with a name for each part of it."""
    match = getattr(request, "resolver_match", None) or _match_of(request)
    return f"/{match.route}" if match else "an unknown page"


def _match_of(request: Any) -> ResolverMatch | None:
    """Of a request that was answered before Django looked which page it is for."""
    try:
        return resolve(request.path_info)
    except (AttributeError, Resolver404):
        return None


def hide_paths(record: logging.LogRecord) -> None:
    """Change the record of a library, so that it tells which page was asked for by its route."""
    if record.name == "gunicorn.error":
        _of_gunicorn(record)
    elif getattr(record, "request", None) is not None:
        _of_django(record, record.__dict__["request"])


def _of_gunicorn(record: logging.LogRecord) -> None:
    if isinstance(record.msg, str) and record.msg.startswith(_REFUSED_BY_GUNICORN):
        record.msg, record.args = "a request was refused that is none by HTTP's rules", ()
    elif isinstance(record.args, tuple):
        record.args = tuple(
            "/…" if isinstance(each, str) and each.startswith("/") else each for each in record.args
        )


def _of_django(record: logging.LogRecord, request: Any) -> None:
    path = getattr(request, "path", None)
    if path is None or not isinstance(record.args, tuple):
        return
    addresses = {path, request.get_full_path()} if hasattr(request, "get_full_path") else {path}
    # Django writes a letter beyond ASCII as an escape.
    addresses |= {_escaped(address) for address in addresses}
    record.args = tuple(
        route_of(request) if isinstance(each, str) and each in addresses else each
        for each in record.args
    )


def _escaped(address: str) -> str:
    return address.encode("unicode_escape").decode("ascii")
