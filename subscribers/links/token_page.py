"""Load the newsletter for public pages, and render pages that have a secret URL."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from delivery.models import Newsletter


def newsletter_of(request: HttpRequest) -> Newsletter:
    """Return the newsletter that the middleware loaded with the request, or load it."""
    newsletter = getattr(request, "newsletter", None)
    return newsletter if isinstance(newsletter, Newsletter) else Newsletter.objects.get_current()


def token_page(
    request: HttpRequest, page: str, context: dict[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    """Render a page with the newsletter's name and time zone."""
    newsletter = newsletter_of(request)
    context = {"newsletter": newsletter, **(context or {})}
    with timezone.override(newsletter.zone):
        response = render(request, f"subscribers/{page}.html", context, status=status)
    return protect_token_page(response)


def damaged_link_page(request: HttpRequest, *, leaves: bool = False) -> HttpResponse:
    """Say that a link is damaged, and offer to mail a new link.

    A GET gets the status 200, because some browsers and proxies replace error pages with their own.
    A POST gets the status 404, because a mail program must see that it unsubscribed nobody.
    """
    context = {"leaves": leaves, "is_damaged": True}
    return token_page(request, "data_request", context, 404 if request.method == "POST" else 200)


def protect_token_page(response: HttpResponse) -> HttpResponse:
    """Hide the page from caches and search engines, and its URL from other sites.

    The Referrer-Policy is not `no-referrer`, because Django's CSRF check would then refuse the
    page's forms.
    """
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "same-origin"
    response["X-Robots-Tag"] = "noindex"
    return response
