"""The pages to sign up and to confirm, which reveal nothing about an address."""

import time
from email.utils import parseaddr
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from subscribers.address import mask_address
from subscribers.client_network import network_of
from subscribers.consent.consent_wording import (
    CONFIRM,
    CONFIRM_BUTTON,
    SIGN_UP,
    SIGN_UP_BUTTON,
    SIGNED,
    full_wording,
    read_wording,
)
from subscribers.fields.find_tags import load_topics
from subscribers.links.token_page import newsletter_of, token_page
from subscribers.links.unsubscribe_token import PREFERENCES, token_for
from subscribers.models.consent_record import How
from subscribers.signup.confirm import LinkState, open_link
from subscribers.signup.sign_up import sign_up
from subscribers.signup.signup_form import (
    TAGS,
    TRAP,
    ReaderFieldsForm,
    SignUpForm,
    confirm_form,
    prefilled_form,
    sign_time,
)


@require_http_methods(["GET", "HEAD", "POST"])
def subscriptions(request: HttpRequest) -> HttpResponse:
    """Show the form for GET; sign up for POST."""
    if request.method != "POST":
        return form_page(request, SignUpForm(initial={TAGS: request.GET.get(TAGS, "")}))
    return _sign_up(request, SignUpForm(request.POST.dict()))


def _sign_up(request: HttpRequest, form: SignUpForm, wording: str = "") -> HttpResponse:
    """Sign up.

    `wording` is the text that the form showed; by default, our form's text.
    """
    if form.is_trapped:
        # A program that filled in the hidden field gets the usual response; nothing is stored.
        return _asked(request)
    if not form.is_valid():
        return form_page(request, form, status=422)
    wait = sign_up(
        form.cleaned_data["email"],
        form.values,
        form.how,
        network_of(request),
        wording or full_wording(newsletter_of(request).name, SIGN_UP, SIGN_UP_BUTTON),
        tags=form.tags,
        is_suspicious=form.is_too_fast(time.time()),
    )
    if wait:
        response = form_page(request, form, notice="too_many", status=429)
        response["Retry-After"] = str(wait)
        return response
    return _asked(request)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def embedded(request: HttpRequest) -> HttpResponse:
    """Accept forms without a CSRF token: from other sites and from cached pages.

    The header `Origin` names the site of the form; in a browser, no site can forge it. The form
    below a letter signs the visitor up. A form on one of the author's own sites also signs the
    visitor up, if it shows the wording that is stored. A form on any other site changes nothing:
    the answer is our form with the typed values.
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
    """Render the form with its values. `notice` says why the form is shown again."""
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
        "tags_name": TAGS,
    }


def cacheable_form_context() -> dict[str, Any]:
    """Return the context of the form for cached pages, without data of one visitor."""
    return {**form_context(SignUpForm()), "shown": ""}


def for_one_visitor(response: HttpResponse) -> HttpResponse:
    """Prevent shared caches from storing this form, which depends on a cookie."""
    response["Cache-Control"] = "private, no-cache"
    return response


def _asked(request: HttpRequest) -> HttpResponse:
    context = {"newsletter": newsletter_of(request)}
    return for_one_visitor(render(request, "subscribers/sign_up_received.html", context))


@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest) -> HttpResponse:
    """Show the button for GET and confirm for POST. Repeated requests are safe.

    GET changes nothing, because link scanners fetch the URL. POST needs the CSRF token too.
    """
    wording = full_wording(newsletter_of(request).name, CONFIRM, CONFIRM_BUTTON)
    return link_page(request, {"network": network_of(request), "wording": wording})


def link_page(
    request: HttpRequest, consent: dict[str, str] | None = None, *, must_press_again: bool = False
) -> HttpResponse:
    """Render the page of a link; a POST with `consent` first confirms the reader.

    The page asks for the reader's name; a refused name confirms nobody. For a damaged link, the
    page shows the form to sign up again. A POST to a damaged link gets the status 404.
    `must_press_again` shows the button once more after a CSRF failure.
    """
    posted = ReaderFieldsForm(request.POST.dict()) if request.method == "POST" else None
    token = request.GET.get("subscription_token", "")
    if consent and posted and posted.is_valid():
        link = open_link(token, posted.values, **consent)
    else:
        link = open_link(token)
    if link is None:
        status = 404 if request.method == "POST" else 200
        form = form_context(SignUpForm())
        return token_page(request, "damaged_confirmation", form, status)
    page, reader, values = link
    context: dict[str, Any] = {"address": mask_address(reader.email) if reader else ""}
    status = 200
    if page is LinkState.OPEN:
        context |= {
            "words": CONFIRM,
            "button": CONFIRM_BUTTON,
            "form": posted or confirm_form(values),
        }
        context["must_press_again"] = must_press_again
        status = 403 if must_press_again else 422 if posted else 200
    elif page is LinkState.DONE and reader:
        context |= {
            "topics": [(topic, topic.pk in reader.tags) for topic in load_topics()],
            "preferences_token": token_for(reader.pk, PREFERENCES),
            "sender": parseaddr(newsletter_of(request).sender)[1],
        }
    return token_page(request, page, context, status)
