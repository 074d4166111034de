"""
Forms and queries are read as UTF-8, whatever character set a request names.

Our pages are UTF-8, and so is every form that comes from them. Left to itself Django refuses a form
under `charset=iso-8859-1`, and under one that is no text at all (`charset=hex`) it fails before it
has a request that could be answered with a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


def forms_in_utf8(application: WSGIApplication) -> WSGIApplication:
    """The same application, which is not told of any character set."""

    def asked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        kind, *parameters = environ.get("CONTENT_TYPE", "").split(";")
        kept = (each for each in parameters if not each.strip().lower().startswith("charset"))
        environ["CONTENT_TYPE"] = ";".join((kind, *kept))
        return application(environ, start_response)

    return asked
