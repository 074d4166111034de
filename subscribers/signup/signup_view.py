"""
Where sign-ups come in. The answer is one and the same whoever the address belongs to.

A form with a mistake in it is shown again with the person's own words, as a page of its own.
"""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from delivery.models.newsletter import Newsletter
from subscribers.client_network import network_of
from subscribers.consent import consent_wording
from subscribers.signup import signup_form
from subscribers.signup.sign_up import Wish, sign_up
from subscribers.signup.signup_form import SignUpForm
from subscribers.signup_limits import is_suspicious


@require_http_methods(["GET", "HEAD", "POST"])
def subscriptions(request: HttpRequest) -> HttpResponse:
    """GET shows the form alone; POST signs up."""
    if request.method != "POST":
        return form_page(request, SignUpForm())
    form = signup_form.sent(request.POST.dict(), time.time())
    if form.is_trapped:
        # A program: it is told what everybody is told, and nothing happens.
        return _asked(request)
    if form.address is None or form.kept_name is None:
        return form_page(request, form, status=422)
    wait = sign_up(
        Wish(
            address=form.address,
            name=form.kept_name,
            how=form.how,
            network=network_of(request),
            wording=sign_up_wording(),
            suspicious=is_suspicious(form.seconds_filling_in, settings.SIGN_UP_LEAST_S),
        )
    )
    if wait:
        response = form_page(request, form, notice="too_many", status=429)
        response["Retry-After"] = str(wait)
        return response
    return _asked(request)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def embedded(request: HttpRequest) -> HttpResponse:
    """
    Take forms without a CSRF token: on other sites, and on pages that caches keep.

    From our own pages it signs up: a browser says where a form was (`Origin`), and no other site
    can forge that. Any other form changes nothing: ours is shown, filled in. So nobody is signed up
    by a page that they only looked at, and the button that counts is pressed beside our own words.
    """
    if request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}":
        return subscriptions(request)
    if request.method != "POST":
        return form_page(request, SignUpForm())
    form = signup_form.filled_in_elsewhere(request.POST.dict())
    return form_page(request, form, notice="embedded")


def form_page(
    request: HttpRequest, form: SignUpForm, *, notice: str = "", status: int = 200
) -> HttpResponse:
    """The form alone, with what was typed into it. `notice` says why it is shown again."""
    response = render(
        request,
        "subscribers/sign_up.html",
        {**form_facts(form), "newsletter": Newsletter.objects.the_one(), "notice": notice},
        status=status,
    )
    return for_one_visitor(response)


def form_facts(form: SignUpForm) -> dict[str, Any]:
    """What `subscribers/sign_up_form.html` needs."""
    return {
        "form": form,
        "words": consent_wording.SIGN_UP,
        "button": consent_wording.SIGN_UP_BUTTON,
        "shown": signup_form.moment(time.time()),
        "trap": signup_form.TRAP,
    }


def form_to_be_cached() -> dict[str, Any]:
    """The same for a page that caches may keep: nothing in it belongs to one visitor."""
    return {**form_facts(SignUpForm()), "shown": ""}


def for_one_visitor(response: HttpResponse) -> HttpResponse:
    """Have no cache between us hand this form to anybody else: it is tied to a cookie."""
    response["Cache-Control"] = "private, no-cache"
    return response


def sign_up_wording() -> str:
    """What stands on the page beside the button, as the ledger keeps it."""
    name = Newsletter.objects.the_one().name
    return consent_wording.as_shown(name, consent_wording.SIGN_UP, consent_wording.SIGN_UP_BUTTON)


def _asked(request: HttpRequest) -> HttpResponse:
    response = render(
        request, "subscribers/asked.html", {"newsletter": Newsletter.objects.the_one()}
    )
    return for_one_visitor(response)
