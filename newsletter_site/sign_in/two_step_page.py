"""The page to turn two-step sign-in on or off, and to renew recovery codes."""

import io
from typing import Any

import segno
from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django_otp.plugins.otp_totp.models import TOTPDevice

from newsletter_site.sign_in import two_step_devices
from newsletter_site.sign_in.reauthenticate import identity_error
from newsletter_site.sign_in.two_step_devices import pause_sentence

# Under this key, the session stores the id of the pending device and a hash of the password. The
# page shows the device's secret only while the hash matches the password.
_PENDING = "two-step.pending"


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def two_step_page(request: HttpRequest) -> HttpResponse:
    """Show the state of two-step sign-in. The posted field `do` names an action."""
    do = request.POST.get("do", "")
    is_on = two_step_devices.is_on(request.user)
    if do == "confirm" and not is_on:
        return _finish_setup(request)
    actions = {"new-codes": _renew_codes, "remove": _remove} if is_on else {"begin": _start_setup}
    if action := actions.get(do):
        if error := identity_error(request):
            return _page(request, "{} {}".format(error, _("Nothing was changed.")))
        return action(request)
    return HttpResponseRedirect(reverse("two_step")) if do else _page(request)


@never_cache
@login_required
@require_safe
def two_step_qr_code(request: HttpRequest) -> HttpResponse:
    """Return the QR code of the secret, only in the session that began the set-up."""
    device = _pending_device(request)
    if device is None:
        raise Http404
    image = io.BytesIO()
    # Draw the light squares of the QR code too: otherwise apps cannot read it on a dark page.
    segno.make(device.config_url, error="m").save(
        image, kind="svg", scale=6, border=4, dark="#000", light="#fff", xmldecl=False
    )
    return HttpResponse(image.getvalue(), content_type="image/svg+xml")


def _start_setup(request: HttpRequest) -> HttpResponse:
    author: Any = request.user
    if device_id := two_step_devices.start_setup(author):
        request.session[_PENDING] = [device_id, author.get_session_auth_hash()]
    return HttpResponseRedirect(reverse("two_step"))


def _finish_setup(request: HttpRequest) -> HttpResponse:
    author: Any = request.user
    codes = two_step_devices.finish_setup(
        author, _pending_id(request), request.POST.get("code", "")
    )
    if codes is None:
        return _page(
            request,
            _(
                "Two-step sign-in is still off. Finish the set-up within 15 minutes, in the "
                "browser where you started it. Start again with a new secret."
            ),
        )
    if not isinstance(codes, list):
        wrong_code = _(
            "This code is wrong. Check the clock of your phone. Then type the code that the app "
            "shows now."
        )
        return _page(request, pause_sentence(codes.wait_s) if codes.wait_s else wrong_code)
    # Keep this session signed in, although all earlier sessions have ended.
    update_session_auth_hash(request, author)
    return _codes_page(request, codes, is_first=True)


def _renew_codes(request: HttpRequest) -> HttpResponse:
    return _codes_page(request, two_step_devices.renew_recovery_codes(request.user), is_first=False)


def _remove(request: HttpRequest) -> HttpResponse:
    author: Any = request.user
    if two_step_devices.remove(author):
        update_session_auth_hash(request, author)
    return HttpResponseRedirect(reverse("two_step"))


def _pending_device(request: HttpRequest) -> TOTPDevice | None:
    return two_step_devices.pending_device(request.user, _pending_id(request))


def _pending_id(request: HttpRequest) -> int | None:
    author: Any = request.user
    device_id, session_hash = request.session.get(_PENDING, (None, ""))
    is_current = constant_time_compare(session_hash, author.get_session_auth_hash())
    return device_id if is_current else None


def _page(request: HttpRequest, error: str = "") -> HttpResponse:
    author: Any = request.user
    device = _pending_device(request)
    is_on = two_step_devices.is_on(author)
    context = {
        "error": error,
        "is_on": is_on,
        "required": settings.REQUIRE_SECOND_FACTOR,
        "since": author.two_step_since,
        "codes_left": two_step_devices.recovery_codes_left(author) if is_on else 0,
        "secret": two_step_devices.secret_text(device) if device else "",
    }
    return render(request, "sign_in/two_step.html", context)


def _codes_page(request: HttpRequest, codes: list[str], *, is_first: bool) -> HttpResponse:
    return render(request, "sign_in/recovery_codes.html", {"codes": codes, "is_first": is_first})
