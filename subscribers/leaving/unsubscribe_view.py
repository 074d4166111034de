"""The page on which readers unsubscribe."""

from typing import Any

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from delivery.mail.mark_test_letter import TEST_RECIPIENT
from subscribers.address import mask_address
from subscribers.client_network import network_of
from subscribers.fields.find_tags import has_topics
from subscribers.leaving.leave import leave
from subscribers.links.token_page import damaged_link_page, token_page
from subscribers.links.unsubscribe_token import PREFERENCES, read, token_for
from subscribers.models import Subscriber
from subscribers.models.consent_record import How

# The body of a one-click POST (RFC 8058) has 26 bytes, or about 200 bytes as multipart/form-data.
LONGEST_ONE_CLICK = 4096  # bytes


def unsubscribe_channel(request: HttpRequest) -> How:
    """Return `ONE_CLICK` for a mail program's POST (RFC 8058), else `LINK`.

    An unreadable body raises no error.
    """
    try:
        if int(request.META.get("CONTENT_LENGTH") or 0) > LONGEST_ONE_CLICK:
            return How.LINK
        value = request.POST.get("List-Unsubscribe")
    except (BadRequest, MultiPartParserError, SuspiciousOperation, ValueError):
        return How.LINK
    return How.ONE_CLICK if value == "One-Click" else How.LINK


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Show the page of the unsubscribe link for GET; unsubscribe for POST.

    This URL is also the one-click URL of RFC 8058. GET changes nothing, because link scanners fetch
    the URL. POST needs no CSRF token, because mail programs post without cookies.
    """
    subscriber_id = read(token)
    if subscriber_id is None:
        return damaged_link_page(request, leaves=True)
    if subscriber_id == TEST_RECIPIENT:
        return reader_page(request, "test_letter_link")
    leaves = request.method == "POST"
    if leaves:
        leave(subscriber_id, unsubscribe_channel(request), network=network_of(request))
    reader = Subscriber.objects.filter(id=subscriber_id).first()
    has_left = leaves or reader is None or reader.unsubscribed_at is not None
    if has_left:
        return reader_page(request, "unsubscribed", reader)
    topics = token_for(subscriber_id, PREFERENCES) if has_topics() else ""
    return reader_page(request, "unsubscribe", reader, preferences_token=topics)


def reader_page(
    request: HttpRequest,
    page: str,
    reader: Subscriber | None = None,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """Render the page of a link in a letter, with the masked address of its reader."""
    address = mask_address(reader.email) if reader else ""
    response = token_page(request, page, {"address": address, **context}, status)
    # The forms on this page need no `Origin` header, so the page can hide its URL from our own site
    # too.
    response["Referrer-Policy"] = "no-referrer"
    return response
