"""The page by which a reader leaves. It only translates; leaving stands in its own module."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from delivery.models.newsletter import Newsletter
from subscribers.leaving import leave
from subscribers.masking import masked
from subscribers.models import Subscriber
from subscribers.unsubscribe_token import read


@method_decorator(csrf_exempt, name="dispatch")
class Unsubscribe(View):
    """
    The page of the unsubscribe link, which is also its one-click address (RFC 8058).

    GET changes nothing, because link scanners fetch it. POST unsubscribes, whatever its body
    says: mail programs post as a form of either kind, without cookies, and the token alone says
    who leaves. That is also why there is no CSRF token; whoever holds the link may leave.
    """

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        """Show one button, or that they have left already."""
        subscriber_id = read(token)
        if subscriber_id is None:
            return self._page(request, "link_does_not_work", status=404)
        reader = Subscriber.objects.filter(id=subscriber_id).first()
        if reader is None or reader.unsubscribed_at is not None:
            return self._page(request, "left", reader)
        return self._page(request, "leave", reader)

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        """Unsubscribe. The answer is the same however often it comes."""
        subscriber_id = read(token)
        if subscriber_id is None:
            return self._page(request, "link_does_not_work", status=404)
        leave(subscriber_id)
        return self._page(request, "left", Subscriber.objects.filter(id=subscriber_id).first())

    def _page(
        self, request: HttpRequest, page: str, reader: Subscriber | None = None, status: int = 200
    ) -> HttpResponse:
        response = render(
            request,
            f"subscribers/{page}.html",
            {
                "newsletter": Newsletter.objects.the_one(),
                "address": masked(reader.email) if reader else "",
            },
            status=status,
        )
        # The address of the page is itself the permission to leave: it is kept nowhere else.
        response["Cache-Control"] = "no-store"
        response["Referrer-Policy"] = "no-referrer"
        response["X-Robots-Tag"] = "noindex"
        return response
