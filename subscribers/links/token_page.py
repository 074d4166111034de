"""The headers of a page whose address is itself a permission."""

from django.http import HttpResponse


def protect_token_page(response: HttpResponse) -> HttpResponse:
    """Keep the page from caches and search engines, and its URL from other sites. Not
    `no-referrer`: with a form a browser would send the origin `null`, which Django's CSRF check
    refuses."""
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "same-origin"
    response["X-Robots-Tag"] = "noindex"
    return response
