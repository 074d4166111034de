"""The pages on which readers see, download and erase their data, and unsubscribe.

Readers get the links to these pages by mail. GET changes nothing. A POST needs the token of the
link and the CSRF token.
"""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from subscribers.address import read_address
from subscribers.client_network import network_of
from subscribers.data_requests.erase import erase
from subscribers.data_requests.personal_data import PersonalData, load_personal_data
from subscribers.data_requests.personal_data_sentences import describe
from subscribers.data_requests.request_data import LINK_DAYS, load_data_link, store_request
from subscribers.fields.find_tags import has_topics
from subscribers.fields.reader_values import shown_again
from subscribers.leaving.leave import leave
from subscribers.links.see_other import see_other
from subscribers.links.token_page import damaged_link_page, protect_token_page, token_page
from subscribers.links.unsubscribe_token import PREFERENCES, token_for
from subscribers.models.consent_record import How
from subscribers.refusal_sentences import InputRefusal, sentence_of


@require_http_methods(["GET", "HEAD", "POST"])
def request_data(request: HttpRequest, *, leaves: bool = False) -> HttpResponse:
    """Show the form for GET; request the link for POST.

    If `leaves` is true, the page says that the link lets the reader unsubscribe.
    """
    if request.method != "POST":
        return token_page(request, "data_request", {"leaves": leaves})
    email = request.POST.get("email", "")
    typed = {"email": shown_again(email), "leaves": leaves}
    address = read_address(email)
    if isinstance(address, InputRefusal):
        typed["error"] = sentence_of(address)
        return token_page(request, "data_request", typed, status=422)
    if wait := store_request(address, network_of(request)):
        page = token_page(request, "data_request", typed | {"too_many": True}, status=429)
        page["Retry-After"] = str(wait)
        return page
    return token_page(request, "data_request_received", {"days": LINK_DAYS, "leaves": leaves})


def _with_link(view: Callable[[HttpRequest, str, PersonalData], HttpResponse]) -> Any:
    """Call the view if the link works; otherwise show a page with the reason."""

    def guarded(request: HttpRequest, token: str) -> HttpResponse:
        link = load_data_link(token)
        if link is None:
            return damaged_link_page(request)
        subscriber_id, is_fresh, token = link
        data = load_personal_data(subscriber_id)
        if data is None:
            return token_page(request, "erased", status=410)
        if not is_fresh:
            return token_page(request, "data_link_too_old", {"days": LINK_DAYS}, status=410)
        return view(request, token, data)

    return guarded


@require_safe
@_with_link
def show_data(request: HttpRequest, token: str, data: PersonalData) -> HttpResponse:
    """Show the data on a page."""
    words = describe(data, to_reader=True)
    topics = token_for(data.id, PREFERENCES) if has_topics() else ""
    context = {"data": data, "words": words, "token": token, "preferences_token": topics}
    return token_page(request, "personal_data", context)


@require_safe
@_with_link
def download_data(request: HttpRequest, token: str, data: PersonalData) -> HttpResponse:
    """Send the data as a file."""
    return data.as_file()


@require_POST
@_with_link
def leave_here(request: HttpRequest, token: str, data: PersonalData) -> HttpResponse:
    """Unsubscribe the reader, then show their data with the new state."""
    leave(data.id, How.LINK, network=network_of(request))
    return protect_token_page(see_other(reverse("subscribers:data", args=[token])))


@require_http_methods(["GET", "HEAD", "POST"])
@_with_link
def erase_data(request: HttpRequest, token: str, data: PersonalData) -> HttpResponse:
    """For GET, explain the consequences of an erasure; for POST, erase the reader."""
    if request.method != "POST":
        return token_page(request, "erase", {"data": data, "token": token})
    erase(data.id)
    return token_page(request, "erased")
