"""The sign-in page: a password, then a code if two-step sign-in is on."""

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
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from newsletter_site.models import User
from newsletter_site.sign_in import known_browser, two_step_devices
from newsletter_site.sign_in.throttle import count_failure, may_try
from newsletter_site.sign_in.two_step_devices import pause_sentence
from subscribers.client_network import network_of
from subscribers.record_activity import record_activity

BACKEND = "newsletter_site.one_query_permissions.PermissionsBackend"

# Under this key, the session stores the user whose password was right, until the code is right too.
_WAITS_FOR_CODE = "sign-in.password-was-right"
_TEN_MINUTES_S = 600


class SignIn(LoginView):
    """The login page of the admin and of the desk."""

    template_name = "admin/login.html"
    authentication_form = AdminAuthenticationForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "GET" and admin.site.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "again" in request.GET:
            request.session.pop(_WAITS_FOR_CODE, None)
        if _author_waiting_for_code(request):
            return self._code_page()
        return super().get(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "code" not in request.POST:
            return super().post(request, *args, **kwargs)
        author = _author_waiting_for_code(request)
        if author is None:
            return HttpResponseRedirect(request.get_full_path())
        return self._check_code(author, request.POST["code"])

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {
            **super().get_context_data(**kwargs),
            "app_path": self.request.get_full_path(),
            "username": self.request.user.get_username(),
        }

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        author = form.get_user()
        if not two_step_devices.is_on(author):
            return self._sign_in(author)
        self.request.session.cycle_key()
        self.request.session[_WAITS_FOR_CODE] = signing.dumps(
            [str(author.pk), author.get_session_auth_hash()], salt=_WAITS_FOR_CODE
        )
        return self._code_page()

    def _check_code(self, author: User, typed: str) -> HttpResponse:
        name = author.get_username()
        if not may_try(self.request, name):
            return HttpResponse(status=429)
        checked = two_step_devices.check(author, typed)
        if checked.is_right:
            return self._sign_in(author, with_recovery_code=checked.is_recovery)
        if checked.wait_s:
            advice = _(
                "If you did not type a wrong code, someone else knows your password. Ask the "
                "operator of this site for a new password."
            )
            page = self._code_page(f"{pause_sentence(checked.wait_s)} {advice}", status=429)
            page.headers["Retry-After"] = str(checked.wait_s)
            return page
        count_failure(self.request, name)
        return self._code_page(
            _(
                "This code is wrong. Type the code that the app shows now, or a recovery code that "
                "you have not used yet."
            )
        )

    def _sign_in(self, author: User, *, with_recovery_code: bool = False) -> HttpResponse:
        request = self.request
        request.session.pop(_WAITS_FOR_CODE, None)
        is_known = known_browser.read_browser_number(request, author.get_username())
        login(request, author, backend=BACKEND)
        if with_recovery_code or not is_known:
            record_activity(
                "sign_in",
                author.pk,
                author,
                new_browser=not is_known,
                recovery_code=with_recovery_code,
                network=network_of(request) or "unknown",
            )
        response = HttpResponseRedirect(self.get_success_url())
        known_browser.set_cookie(response, author.get_username())
        return response

    def _code_page(self, error: str = "", status: int = 200) -> HttpResponse:
        context = {
            "error": error,
            "app_path": self.request.get_full_path(),
            "next": self.get_redirect_url(),
        }
        page = render(self.request, "sign_in/code.html", context, status=status)
        page.headers["Cache-Control"] = "no-store"
        return page


def _author_waiting_for_code(request: HttpRequest) -> User | None:
    """Return the author whose password was right less than ten minutes ago."""
    try:
        key, session_hash = signing.loads(
            request.session.get(_WAITS_FOR_CODE, ""), salt=_WAITS_FOR_CODE, max_age=_TEN_MINUTES_S
        )
    except (signing.BadSignature, ValueError):
        return None
    author = User.objects.filter(pk=key, is_active=True, is_staff=True).first()
    if author is None or not constant_time_compare(session_hash, author.get_session_auth_hash()):
        return None
    return author


sign_in = SignIn.as_view()


@require_safe
def unblock_sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """Mark this browser as known, by the link that `manage.py unblock_sign_in` prints."""
    response = HttpResponseRedirect(reverse("admin:login"))
    if not known_browser.set_cookie_by_link(response, token):
        return render(request, "sign_in/link_too_old.html", status=410)
    return response
