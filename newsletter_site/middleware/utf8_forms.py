"""
Read forms and queries as UTF-8, whatever character set a request names.

Our pages and their forms are UTF-8. Django would refuse a form with `charset=iso-8859-1`, and fail
without a page for one that is no text (`charset=hex`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


def ignore_charset(application: WSGIApplication) -> WSGIApplication:
    """Wrap a WSGI application."""

    def wrapped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        media_type, *parameters = environ.get("CONTENT_TYPE", "").split(";")
        kept = (each for each in parameters if not each.strip().lower().startswith("charset"))
        environ["CONTENT_TYPE"] = ";".join((media_type, *kept))
        return application(environ, start_response)

    return wrapped
