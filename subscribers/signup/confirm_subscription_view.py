"""The page behind the link of a confirmation mail.

GET changes nothing, because link scanners fetch it. POST needs the CSRF token too.
"""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from subscribers.address import mask_address
from subscribers.client_network import network_of
from subscribers.consent.consent_wording import CONFIRM, CONFIRM_BUTTON, full_wording
from subscribers.links.page_newsletter import newsletter_of
from subscribers.links.token_page import token_page
from subscribers.signup.confirm import open_link
from subscribers.signup.signup_form import SignUpForm
from subscribers.signup.signup_view import form_context


@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest) -> HttpResponse:
    """Show the button for GET and confirm for POST; both are repeatable."""
    if request.method != "POST":
        return link_page(request)
    wording = full_wording(newsletter_of(request).name, CONFIRM, CONFIRM_BUTTON)
    return link_page(request, {"network": network_of(request), "wording": wording})


def link_page(
    request: HttpRequest, consent: dict[str, str] | None = None, *, must_press_again: bool = False
) -> HttpResponse:
    """Render the page of a link, after confirming with `consent` if it is given.

    Instead of a damaged link the form is shown, to sign up again; a POST is answered 404.
    `must_press_again` shows the button once more after a CSRF failure.
    """
    link = open_link(request.GET.get("subscription_token", ""), **(consent or {}))
    if link is None:
        status = 404 if request.method == "POST" else 200
        form = form_context(SignUpForm())
        return token_page(request, "damaged_confirmation", form, status)
    page, reader = link
    context = {
        "address": mask_address(reader.email) if reader else "",
        "words": CONFIRM,
        "button": CONFIRM_BUTTON,
        "must_press_again": must_press_again,
    }
    return token_page(request, page, context, 403 if must_press_again else 200)
