"""The page where everybody signs in. It translates; counting and codes are looked at behind it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe

from newsletter_site.models import User
from newsletter_site.sign_in import attempts, known_browser, two_step_devices
from newsletter_site.sign_in.account_activity import record
from newsletter_site.sign_in.attempts import Refused
from newsletter_site.sign_in.axes_handler import say_that_it_failed, take_a_try
from newsletter_site.sign_in.two_step_devices import Answer
from newsletter_site.sign_in.wait_page import after_a_pause, refused_page
from subscribers.client_network import network_of

BACKEND = "newsletter_site.user_with_permissions.UserWithPermissions"
# Codes are asked for after the password alone: whoever typed wrong ones knows it.
WHO_ELSE = (
    "If you typed no wrong code, somebody else knows your password: ask whoever runs this site for "
    "a new one."
)
# Where a session notes whose password was right, until the code is there too.
_WHOSE = "sign-in.password-was-right"
_TEN_MINUTES = 600


class SignIn(LoginView):
    """The admin's login page, which is that of the desk too: a password, then maybe a code."""

    template_name = "admin/login.html"
    authentication_form = AdminAuthenticationForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Whoever is signed in is led on, as the admin does."""
        if request.method == "GET" and admin.site.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The page for the password; or, where that was right, the one for the code."""
        if "again" in request.GET:
            request.session.pop(_WHOSE, None)
        if _who_waits_for_a_code(request):
            return self._code_page()
        return super().get(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A password or a code."""
        if "code" not in request.POST:
            return super().post(request, *args, **kwargs)
        author = _who_waits_for_a_code(request)
        if author is None:
            return HttpResponseRedirect(request.get_full_path())
        return self._try_code(author, request.POST["code"])

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """What the page shows."""
        return {
            **super().get_context_data(**kwargs),
            "app_path": self.request.get_full_path(),
            "username": self.request.user.get_username(),
        }

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """The password was right."""
        author = form.get_user()
        if not two_step_devices.is_asked_of(author):
            return self._signed_in(author, "")
        # Right so far, and nobody is signed in yet: every code costs a try of its own.
        attempts.take_back(self.request.sign_in_tried)  # type: ignore[attr-defined]  # by take_a_try
        self.request.session.cycle_key()
        self.request.session[_WHOSE] = signing.dumps(
            [str(author.pk), author.get_session_auth_hash()], salt=_WHOSE
        )
        return self._code_page()

    def _try_code(self, author: User, typed: str) -> HttpResponse:
        tried = take_a_try(self.request, author.get_username())
        if isinstance(tried, Refused):
            return refused_page(self.request)
        checked = two_step_devices.check(author, typed)
        if checked.answer is Answer.RIGHT:
            return self._signed_in(author, ", with a recovery code" if checked.is_recovery else "")
        if checked.answer is Answer.PAUSED:
            # It was not looked at, so it is no failure.
            attempts.take_back(tried)
            return self._code_page(
                f"{after_a_pause(checked.wait_s)} {WHO_ELSE}", 429, checked.wait_s
            )
        say_that_it_failed(self.request, author.get_username(), "a code at sign-in was wrong")
        return self._code_page(
            "This code is not the right one. Type the one that the app shows now, or a recovery "
            "code that you have not used yet."
        )

    def _signed_in(self, author: User, how: str) -> HttpResponse:
        request = self.request
        request.session.pop(_WHOSE, None)
        is_new_here = not known_browser.browser_known_for(author.get_username(), request)
        login(request, author, backend=BACKEND)
        if is_new_here or how:
            where = " from a browser that was not known yet" if is_new_here else ""
            network = network_of(request) or "unknown"
            record(author, author, f"Signed in{where}{how}, network {network}")
        response = HttpResponseRedirect(self.get_success_url())
        known_browser.mark(response, author.get_username())
        return response

    def _code_page(self, fault: str = "", status: int = 200, wait_s: int = 0) -> HttpResponse:
        facts = {
            "fault": fault,
            "app_path": self.request.get_full_path(),
            "next": self.get_redirect_url(),
        }
        page = render(self.request, "sign_in/code.html", facts, status=status)
        page.headers["Cache-Control"] = "no-store"
        if wait_s:
            page.headers["Retry-After"] = str(wait_s)
        return page


def _who_waits_for_a_code(request: HttpRequest) -> User | None:
    """Whose password was right in this session within ten minutes, and is still theirs."""
    try:
        key, password = signing.loads(
            request.session.get(_WHOSE, ""), salt=_WHOSE, max_age=_TEN_MINUTES
        )
    except (signing.BadSignature, ValueError):
        return None
    author = User.objects.filter(pk=key, is_active=True, is_staff=True).first()
    if author is None or not constant_time_compare(password, author.get_session_auth_hash()):
        return None
    return author


sign_in = SignIn.as_view()


@require_safe
def let_in(request: HttpRequest, token: str) -> HttpResponse:
    """The link that `manage.py let_in` prints: this browser is known from now on."""
    response = HttpResponseRedirect(reverse("admin:login"))
    if not known_browser.mark_by_link(response, token):
        return render(request, "sign_in/link_too_old.html", status=410)
    return response
