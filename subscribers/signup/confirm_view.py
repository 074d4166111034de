"""The page behind the link in a mail that asks for confirmation. GET changes nothing, because link
scanners fetch it. POST needs the CSRF token too."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from delivery.models.newsletter import Newsletter
from subscribers.address import mask_address
from subscribers.client_network import network_of
from subscribers.consent.consent_wording import CONFIRM, CONFIRM_BUTTON, full_wording
from subscribers.links.token_page import token_page
from subscribers.signup import confirm as confirming
from subscribers.signup.confirm import ConfirmationLink, LinkState

PAGES = {
    LinkState.OPEN: "confirm",
    LinkState.DONE: "confirmed",
    LinkState.STALE: "confirm_link_too_old",
}


@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest) -> HttpResponse:
    """GET shows one button, or why there is none; POST confirms. Both can be repeated."""
    token = request.GET.get("subscription_token", "")
    if request.method != "POST":
        return link_page(request, confirming.load_link(token))
    wording = full_wording(Newsletter.objects.get_current().name, CONFIRM, CONFIRM_BUTTON)
    link = confirming.confirm(token, network=network_of(request), wording=wording)
    return link_page(request, link)


def form_again(request: HttpRequest, status: int) -> HttpResponse:
    """The page with a fresh button, for a press that came without the token of its form."""
    link = confirming.load_link(request.GET.get("subscription_token", ""))
    return link_page(request, link, must_press_again=True, status=status)


def link_page(
    request: HttpRequest,
    link: ConfirmationLink | None,
    *,
    must_press_again: bool = False,
    status: int = 200,
) -> HttpResponse:
    """The page of a link; 404 for one that we never gave out."""
    if link is None:
        return token_page(request, "unknown_link", status=404)
    context = {
        "address": mask_address(link.reader.email) if link.reader else "",
        "words": CONFIRM,
        "button": CONFIRM_BUTTON,
        "must_press_again": must_press_again,
    }
    return token_page(request, PAGES[link.state], context, status)
