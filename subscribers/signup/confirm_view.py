"""
The page behind the link in a mail that asks for confirmation.

GET changes nothing, because link scanners fetch it. POST confirms, and needs the token of the form
(CSRF) beside that of the link: nobody is confirmed by a page of another site. Any browser that
keeps a cookie can press the button, with scripts or without.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from delivery.models.newsletter import Newsletter
from subscribers.client_network import network_of
from subscribers.consent import consent_wording
from subscribers.links.token_page import kept_secret
from subscribers.mask_address import masked
from subscribers.signup import confirm as confirming
from subscribers.signup.confirm import Link, Standing

PAGES = {
    Standing.OPEN: "subscribers/confirm.html",
    Standing.DONE: "subscribers/confirmed.html",
    Standing.STALE: "subscribers/too_old_to_confirm.html",
}


@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest) -> HttpResponse:
    """GET shows one button, or how the link stands; POST confirms. Both can be repeated."""
    token = request.GET.get("subscription_token", "")
    if request.method != "POST":
        return link_page(request, confirming.look_at(token))
    name = Newsletter.objects.the_one().name
    wording = consent_wording.as_shown(
        name, consent_wording.CONFIRM, consent_wording.CONFIRM_BUTTON
    )
    link = confirming.confirm(token, network=network_of(request), wording=wording)
    return link_page(request, link)


def form_again(request: HttpRequest, status: int) -> HttpResponse:
    """The page with a fresh button, for a press that came without the token of its form."""
    link = confirming.look_at(request.GET.get("subscription_token", ""))
    return link_page(request, link, pressed_in_vain=True, status=status)


def link_page(
    request: HttpRequest, link: Link | None, *, pressed_in_vain: bool = False, status: int = 200
) -> HttpResponse:
    """How a link stands, as a page. One that we never gave out is not found."""
    page = PAGES[link.standing] if link else "subscribers/link_does_not_work.html"
    facts = {
        "newsletter": Newsletter.objects.the_one(),
        "address": masked(link.reader.email) if link and link.reader else "",
        "words": consent_wording.CONFIRM,
        "button": consent_wording.CONFIRM_BUTTON,
        "pressed_in_vain": pressed_in_vain,
    }
    return kept_secret(render(request, page, facts, status=status if link else 404))
