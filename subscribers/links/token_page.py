"""The headers of a page whose address is itself a permission."""

from __future__ import annotations

from django.http import HttpResponse


def kept_secret(response: HttpResponse) -> HttpResponse:
    """
    Have nobody keep the page, list it, or tell another site its address.

    The policy is `same-origin` and not `no-referrer`, under which a browser calls the origin of a
    form `null` and Django's check against forged forms refuses it.
    """
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "same-origin"
    response["X-Robots-Tag"] = "noindex"
    return response
