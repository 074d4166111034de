"""
The pages by which people see what is held about them, take it away, leave, and have it erased.

The link comes by mail to the address it is about. Its token says who; looking changes nothing, and
what is pressed carries the token of its form (CSRF) too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from delivery.models.newsletter import Newsletter
from subscribers.address import Refusal, read_address
from subscribers.client_network import network_of
from subscribers.data_requests.data_request import LINK_DAYS, Link, Standing, ask, link_of
from subscribers.data_requests.erase import erase
from subscribers.data_requests.personal_data import record_of
from subscribers.data_requests.personal_data_file import record_file
from subscribers.data_requests.personal_data_sentences import in_words
from subscribers.leaving.leave import leave
from subscribers.links.see_other import see_other
from subscribers.links.token_page import kept_secret
from subscribers.models.consent_record import How

LONGEST_SHOWN = 1000


@require_http_methods(["GET", "HEAD", "POST"])
def ask_for_record(request: HttpRequest, *, leaves: bool = False) -> HttpResponse:
    """
    GET shows a form for the address; POST asks for the link. All answers are alike.

    `leaves` words the page for those who want to unsubscribe. The same link does both.
    """
    if request.method != "POST":
        return _page(request, "record_ask", {"leaves": leaves})
    email = request.POST.get("email", "")
    typed = {"email": email[:LONGEST_SHOWN], "leaves": leaves}
    address = read_address(email)
    if isinstance(address, Refusal):
        return _page(request, "record_ask", typed | {"error": address.reason}, status=422)
    wait = ask(address.email, network_of(request))
    if wait:
        page = _page(request, "record_ask", typed | {"too_many": True}, status=429)
        page["Retry-After"] = str(wait)
        return page
    return _page(request, "record_asked", {"days": LINK_DAYS, "leaves": leaves})


def _with_link(view: Callable[[HttpRequest, str, Link], HttpResponse]) -> Any:
    """Only for a link that leads somewhere now; the others get a page that says why not."""

    def guarded(request: HttpRequest, token: str) -> HttpResponse:
        link = link_of(token)
        if link is None:
            return _page(request, "link_does_not_work", status=404)
        if link.standing is Standing.NOBODY:
            return _page(request, "erased", status=410)
        if link.standing is Standing.STALE:
            return _page(request, "record_too_old", {"days": LINK_DAYS}, status=410)
        return view(request, token, link)

    return guarded


@require_safe
@_with_link
def show_record(request: HttpRequest, token: str, link: Link) -> HttpResponse:
    """What is held, as a page."""
    record = record_of(link.subscriber_id)
    if record is None:
        return _page(request, "erased", status=410)
    words = in_words(record, to_them=True)
    return _page(request, "record", {"record": record, "words": words, "token": token})


@require_safe
@_with_link
def download_record(request: HttpRequest, token: str, link: Link) -> HttpResponse:
    """The same as a file."""
    record = record_of(link.subscriber_id)
    if record is None:
        return _page(request, "erased", status=410)
    return record_file(record)


@require_POST
@_with_link
def leave_from_record(request: HttpRequest, token: str, link: Link) -> HttpResponse:
    """Leave, and look at the record again, which says so."""
    leave(link.subscriber_id, How.LINK, network=network_of(request))
    return kept_secret(see_other(reverse("subscribers:record", args=[token])))


@require_http_methods(["GET", "HEAD", "POST"])
@_with_link
def erase_record(request: HttpRequest, token: str, link: Link) -> HttpResponse:
    """GET says what it means; POST erases."""
    if request.method != "POST":
        record = record_of(link.subscriber_id)
        return _page(request, "erase", {"record": record, "token": token})
    erase(link.subscriber_id)
    return _page(request, "erased")


def _page(
    request: HttpRequest, page: str, facts: dict[str, Any] | None = None, status: int = 200
) -> HttpResponse:
    newsletter = Newsletter.objects.the_one()
    with timezone.override(newsletter.zone):
        answer = render(
            request,
            f"subscribers/{page}.html",
            {"newsletter": newsletter, **(facts or {})},
            status=status,
        )
    return kept_secret(answer)
