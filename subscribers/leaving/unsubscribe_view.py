"""The page by which a reader leaves. It only translates; leaving stands in its own module."""

from __future__ import annotations

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from delivery.mail.test_letter import TEST_RECIPIENT
from delivery.models.newsletter import Newsletter
from subscribers.address import mask_address
from subscribers.client_network import network_of
from subscribers.leaving.leave import leave
from subscribers.links.unsubscribe_token import read
from subscribers.models import Subscriber
from subscribers.models.consent_record import How

# RFC 8058 prescribes a body of 26 bytes, or some two hundred as multipart/form-data.
LONGEST_ONE_CLICK = 4096  # bytes


def unsubscribe_channel(request: HttpRequest) -> How:
    """
    Whether a mail program posts, which says so in the body (RFC 8058), or a person on the page.

    It only goes on record, so a body that cannot be read is no reason to keep anybody.
    """
    try:
        if int(request.META.get("CONTENT_LENGTH") or 0) > LONGEST_ONE_CLICK:
            return How.LINK
        said = request.POST.get("List-Unsubscribe")
    except (
        BadRequest,
        MultiPartParserError,
        SuspiciousOperation,
        UnreadablePostError,
        ValueError,
    ):
        return How.LINK
    return How.ONE_CLICK if said == "One-Click" else How.LINK


@method_decorator(csrf_exempt, name="dispatch")
class Unsubscribe(View):
    """
    The page of the unsubscribe link, which is also its one-click address (RFC 8058).

    GET changes nothing, because link scanners fetch it. POST unsubscribes, whatever its body
    says: mail programs post as a form of either kind, without cookies, and the token alone says
    who leaves. That is also why there is no CSRF token; whoever holds the link may leave. Requests
    are not counted by network: those of many readers come from one mailbox provider.
    """

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        """Show one button, or that they have left already."""
        subscriber_id = read(token)
        if subscriber_id is None:
            return self._page(request, "unknown_link", status=404)
        if subscriber_id == TEST_RECIPIENT:
            return self._page(request, "test_letter_link")
        reader = Subscriber.objects.filter(id=subscriber_id).first()
        if reader is None or reader.unsubscribed_at is not None:
            return self._page(request, "unsubscribed", reader)
        return self._page(request, "unsubscribe", reader)

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        """Unsubscribe. The answer is the same however often it comes."""
        subscriber_id = read(token)
        if subscriber_id is None:
            return self._page(request, "unknown_link", status=404)
        if subscriber_id == TEST_RECIPIENT:
            return self._page(request, "test_letter_link")
        leave(subscriber_id, unsubscribe_channel(request), network=network_of(request))
        return self._page(
            request, "unsubscribed", Subscriber.objects.filter(id=subscriber_id).first()
        )

    def _page(
        self, request: HttpRequest, page: str, reader: Subscriber | None = None, status: int = 200
    ) -> HttpResponse:
        response = render(
            request,
            f"subscribers/{page}.html",
            {
                "newsletter": Newsletter.objects.the_one(),
                "address": mask_address(reader.email) if reader else "",
            },
            status=status,
        )
        # The address of the page is itself the permission to leave: it is kept nowhere else.
        response["Cache-Control"] = "no-store"
        response["Referrer-Policy"] = "no-referrer"
        response["X-Robots-Tag"] = "noindex"
        return response
