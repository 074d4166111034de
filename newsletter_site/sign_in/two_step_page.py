"""The page where somebody sets up their second factor, renews its codes, or takes it away."""

from __future__ import annotations

import io
from typing import Any, cast

import segno
from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from newsletter_site.models import User
from newsletter_site.sign_in import two_step_devices, two_step_setup
from newsletter_site.sign_in.attempts import Refused
from newsletter_site.sign_in.reauthenticate import what_is_wrong
from newsletter_site.sign_in.two_step_devices import Answer, Checked
from newsletter_site.sign_in.wait_page import after_a_pause, refused_page

NOT_THE_CODE = (
    "This code is not the right one. Look whether the telephone’s clock is right, and type the "
    "code that the app shows now."
)
NOT_BEGUN = (
    "Nothing was switched on: a set-up has to be ended within fifteen minutes, in the browser in "
    "which it was begun. Begin again, with a fresh secret."
)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor_page(request: HttpRequest) -> HttpResponse:
    """How it stands, and what may be done: the field `do` of a form says what."""
    do = {"begin": _begin, "confirm": _confirm, "new-codes": _new_codes, "remove": _remove}
    if request.method != "POST":
        return _page(request)
    return do.get(request.POST.get("do", ""), _page)(request)


@never_cache
@login_required
@require_safe
def second_factor_picture(request: HttpRequest) -> HttpResponse:
    """The QR code of a secret, in the session that is setting it up alone."""
    device = two_step_setup.begun_in(request)
    if device is None:
        raise Http404
    drawn = io.BytesIO()
    # Light modules are drawn too: on a dark page nothing could read it otherwise.
    segno.make(device.config_url, error="m").save(
        drawn, kind="svg", scale=6, border=4, dark="#000", light="#fff", xmldecl=False
    )
    return HttpResponse(drawn.getvalue(), content_type="image/svg+xml")


def _begin(request: HttpRequest) -> HttpResponse:
    if two_step_devices.is_asked_of(request.user):
        return _to_the_page()
    if refused := _is_not_them(request):
        return refused
    two_step_setup.begin_in(request)
    return _to_the_page()


def _confirm(request: HttpRequest) -> HttpResponse:
    if two_step_devices.is_asked_of(request.user):
        return _to_the_page()
    done = two_step_setup.confirm_in(request, request.POST.get("code", ""))
    if isinstance(done, Checked):
        return _page(request, _why_not(done))
    # This session goes on; the others, of before, have ended.
    update_session_auth_hash(request, _author_of(request))
    return _codes_page(request, done, is_first=True)


def _new_codes(request: HttpRequest) -> HttpResponse:
    if not two_step_devices.is_asked_of(request.user):
        return _to_the_page()
    if refused := _is_not_them(request):
        return refused
    return _codes_page(request, two_step_devices.new_codes(request.user), is_first=False)


def _remove(request: HttpRequest) -> HttpResponse:
    if not two_step_devices.is_asked_of(request.user):
        return _to_the_page()
    if refused := _is_not_them(request):
        return refused
    if two_step_devices.remove(request.user):
        update_session_auth_hash(request, _author_of(request))
    return _to_the_page()


def _author_of(request: HttpRequest) -> User:
    """Whoever is signed in: `login_required` lets nobody else come here."""
    return cast("User", request.user)


def _is_not_them(request: HttpRequest) -> HttpResponse | None:
    """The answer to whoever did not prove who they are; None to whoever did."""
    wrong = what_is_wrong(request, request.POST.get("proof", ""))
    if isinstance(wrong, Refused):
        return refused_page(request)
    return _page(request, f"{wrong} Nothing was changed.") if wrong else None


def _why_not(checked: Checked) -> str:
    if checked.answer is Answer.PAUSED:
        return after_a_pause(checked.wait_s)
    return NOT_BEGUN if checked.answer is Answer.NOT_BEGUN else NOT_THE_CODE


def _page(request: HttpRequest, fault: str = "") -> HttpResponse:
    author: Any = request.user
    device = two_step_setup.begun_in(request)
    is_on = two_step_devices.is_asked_of(author)
    facts = {
        "fault": fault,
        "is_on": is_on,
        "required": settings.REQUIRE_SECOND_FACTOR,
        "since": author.second_factor_since,
        "codes_left": two_step_devices.recovery_codes_left(author) if is_on else 0,
        "secret": two_step_devices.secret_of(device) if device else "",
    }
    return render(request, "sign_in/second_factor.html", facts)


def _codes_page(request: HttpRequest, codes: list[str], *, is_first: bool) -> HttpResponse:
    return render(request, "sign_in/recovery_codes.html", {"codes": codes, "is_first": is_first})


def _to_the_page() -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("second_factor"))
