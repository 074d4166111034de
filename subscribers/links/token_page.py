"""The headers of a page whose address is itself a permission."""

from django.http import HttpResponse


def protect_token_page(response: HttpResponse) -> HttpResponse:
    """
    Keep caches from storing the page, search engines from listing it, and its URL from other sites.

    The policy is `same-origin`: under `no-referrer` a browser sends the origin `null` with a form,
    which Django's CSRF check refuses.
    """
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "same-origin"
    response["X-Robots-Tag"] = "noindex"
    return response
