"""The sign-up page. Its response does not show whether an address is on the list."""

import time
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from subscribers.client_network import network_of
from subscribers.consent.consent_wording import (
    SIGN_UP,
    SIGN_UP_BUTTON,
    SIGNED,
    full_wording,
    read_wording,
)
from subscribers.links.page_newsletter import newsletter_of
from subscribers.models.consent_record import How
from subscribers.request_limits import is_suspicious
from subscribers.signup import form_tags
from subscribers.signup.sign_up import sign_up
from subscribers.signup.signup_form import TRAP, SignUpForm, prefilled_form, sign_time


@require_http_methods(["GET", "HEAD", "POST"])
def subscriptions(request: HttpRequest) -> HttpResponse:
    """Show the form for GET; sign up for POST."""
    if request.method != "POST":
        return form_page(
            request, SignUpForm(initial={form_tags.NAME: request.GET.get(form_tags.NAME, "")})
        )
    return _sign_up(request, SignUpForm(request.POST.dict()))


def _sign_up(request: HttpRequest, form: SignUpForm, wording: str = "") -> HttpResponse:
    """Sign up with the wording that the form showed, which is ours unless it is given."""
    if form.is_trapped:
        # Programs get the usual response, but nothing is stored.
        return _asked(request)
    if not form.is_valid():
        return form_page(request, form, status=422)
    seconds = form.seconds_filling_in(time.time())
    wait = sign_up(
        form.cleaned_data["email"],
        form.values,
        form.how,
        network_of(request),
        wording or full_wording(newsletter_of(request).name, SIGN_UP, SIGN_UP_BUTTON),
        tags=form.tags,
        is_suspicious=is_suspicious(seconds, settings.SIGN_UP_LEAST_S),
    )
    if wait:
        response = form_page(request, form, notice="too_many", status=429)
        response["Retry-After"] = str(wait)
        return response
    return _asked(request)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def embedded(request: HttpRequest) -> HttpResponse:
    """Take forms without a CSRF token: from other sites and from cached pages.

    A browser does not let a site forge its `Origin`. The form below a letter signs up, and so does
    a form on one of the author's own sites if it shows the wording that is stored. Any other form
    changes nothing and shows our form with its values.
    """
    if request.method != "POST":
        return form_page(request, SignUpForm())
    origin = request.headers.get("Origin", "")
    if origin == f"{request.scheme}://{request.get_host()}":
        return _sign_up(request, SignUpForm({**request.POST.dict(), "how": How.ARCHIVE}))
    wording = read_wording(request.POST.get(SIGNED, ""))
    if wording and origin in newsletter_of(request).own_sites.splitlines():
        embedded_form = SignUpForm({**request.POST.dict(), "how": How.EMBEDDED_FORM})
        return _sign_up(request, embedded_form, wording)
    return form_page(request, prefilled_form(request.POST), notice="embedded")


def form_page(
    request: HttpRequest, form: SignUpForm, *, notice: str = "", status: int = 200
) -> HttpResponse:
    """Render the form with its values. `notice` says why it is shown again."""
    newsletter = newsletter_of(request)
    context = {**form_context(form), "newsletter": newsletter, "notice": notice}
    return for_one_visitor(render(request, "subscribers/sign_up.html", context, status=status))


def form_context(form: SignUpForm) -> dict[str, Any]:
    """Return the context of `subscribers/sign_up_form.html`."""
    return {
        "form": form,
        "words": SIGN_UP,
        "button": SIGN_UP_BUTTON,
        "shown": sign_time(time.time()),
        "trap": TRAP,
        "tags_name": form_tags.NAME,
    }


def cacheable_form_context() -> dict[str, Any]:
    """Return the same context without data of one visitor, for cached pages."""
    return {**form_context(SignUpForm()), "shown": ""}


def for_one_visitor(response: HttpResponse) -> HttpResponse:
    """Prevent shared caches from storing this form, which depends on a cookie."""
    response["Cache-Control"] = "private, no-cache"
    return response


def _asked(request: HttpRequest) -> HttpResponse:
    context = {"newsletter": newsletter_of(request)}
    return for_one_visitor(render(request, "subscribers/sign_up_received.html", context))
