"""The page by which a reader unsubscribes."""

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
from subscribers.links.token_page import protect_token_page
from subscribers.links.unsubscribe_token import read
from subscribers.models import Subscriber
from subscribers.models.consent_record import How

# RFC 8058 prescribes a body of 26 bytes, or some two hundred as multipart/form-data.
LONGEST_ONE_CLICK = 4096  # bytes


def unsubscribe_channel(request: HttpRequest) -> How:
    """Tell a mail program (RFC 8058) from a reader. An unreadable body keeps nobody from
    leaving."""
    try:
        if int(request.META.get("CONTENT_LENGTH") or 0) > LONGEST_ONE_CLICK:
            return How.LINK
        said = request.POST.get("List-Unsubscribe")
    except (BadRequest, MultiPartParserError, SuspiciousOperation, UnreadablePostError, ValueError):
        return How.LINK
    return How.ONE_CLICK if said == "One-Click" else How.LINK


@method_decorator(csrf_exempt, name="dispatch")
class Unsubscribe(View):
    """The page of the unsubscribe link and its one-click address (RFC 8058). GET changes nothing,
    because link scanners fetch it. POST needs no CSRF token: mail programs post without cookies.
    Networks are not counted: many readers come from one mailbox provider."""

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        return self._respond(request, token, leaves=False)

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        return self._respond(request, token, leaves=True)

    def _respond(self, request: HttpRequest, token: str, *, leaves: bool) -> HttpResponse:
        subscriber_id = read(token)
        if subscriber_id is None:
            return _page(request, "unknown_link", status=404)
        if subscriber_id == TEST_RECIPIENT:
            return _page(request, "test_letter_link")
        if leaves:
            leave(subscriber_id, unsubscribe_channel(request), network=network_of(request))
        reader = Subscriber.objects.filter(id=subscriber_id).first()
        has_left = leaves or reader is None or reader.unsubscribed_at is not None
        return _page(request, "unsubscribed" if has_left else "unsubscribe", reader)


def _page(
    request: HttpRequest, page: str, reader: Subscriber | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "newsletter": Newsletter.objects.the_one(),
        "address": mask_address(reader.email) if reader else "",
    }
    response = protect_token_page(
        render(request, f"subscribers/{page}.html", context, status=status)
    )
    # No form here needs an origin, so not even our own site learns the address.
    response["Referrer-Policy"] = "no-referrer"
    return response
