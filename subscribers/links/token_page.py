"""The headers of a page whose URL is itself a permission."""

from django.http import HttpResponse


def protect_token_page(response: HttpResponse) -> HttpResponse:
    """Keep the page from caches and search engines, and its URL from other sites. Not
    `no-referrer`: Django's CSRF check would refuse the forms."""
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "same-origin"
    response["X-Robots-Tag"] = "noindex"
    return response
