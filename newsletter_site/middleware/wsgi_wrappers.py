"""Wrappers of the WSGI application, which run before Django's middleware."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


def drop_head_bodies(application: WSGIApplication) -> WSGIApplication:
    """Answer HEAD without a body, which waitress would send."""

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        response = application(environ, start_response)
        if environ["REQUEST_METHOD"] != "HEAD":
            return response
        if hasattr(response, "close"):
            response.close()
        return []

    return wrapped


def ignore_charset(application: WSGIApplication) -> WSGIApplication:
    """Read forms as UTF-8, even if a request names another charset.

    For another charset, Django itself would refuse the request or fail.
    """

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        media_type, *parameters = environ.get("CONTENT_TYPE", "").split(";")
        kept = (each for each in parameters if not each.strip().lower().startswith("charset"))
        environ["CONTENT_TYPE"] = ";".join((media_type, *kept))
        return application(environ, start_response)

    return wrapped
