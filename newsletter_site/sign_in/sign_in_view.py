"""The sign-in page: a password, then a code if two-step sign-in is on."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, redirect_to_login
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from newsletter_site.models import User
from newsletter_site.sign_in import known_browser, two_step_devices
from newsletter_site.sign_in.finish_sign_in import TEN_MINUTES_S, Proof, finish_sign_in
from newsletter_site.sign_in.passkeys import webauthn
from newsletter_site.sign_in.sign_in_methods import SignInMethod, two_step_methods
from newsletter_site.sign_in.throttle import count_failure, may_try
from newsletter_site.sign_in.two_step_devices import pause_sentence

# Under this key, the session stores the user whose password was right, or whom the organisation
# signed in, until the code is right too.
_WAITS_FOR_CODE = "sign-in.password-was-right"


class SignIn(LoginView):
    """The login page of the admin and of the desk."""

    template_name = "admin/login.html"
    authentication_form = AdminAuthenticationForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "GET" and admin.site.has_permission(request):
            return HttpResponseRedirect(reverse("start"))
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
            "has_passkeys": webauthn.are_possible(),
            "organisation": settings.OIDC_NAME,
        }

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        author = form.get_user()
        answer = after_first_step(self.request, author, Proof(), self.get_success_url())
        return self._code_page() if _author_waiting_for_code(self.request) else answer

    def _check_code(self, author: User, typed: str) -> HttpResponse:
        name = author.get_username()
        if not may_try(self.request, name):
            return HttpResponse(status=429)
        checked = two_step_devices.check(author, typed)
        if checked.is_right:
            self.request.session.pop(_WAITS_FOR_CODE, None)
            proof = Proof(is_recovery=checked.is_recovery)
            return finish_sign_in(self.request, author, proof, self.get_success_url())
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

    def _code_page(self, error: str = "", status: int = 200) -> HttpResponse:
        context = {
            "error": error,
            "app_path": self.request.get_full_path(),
            "next": self.get_redirect_url(),
        }
        page = render(self.request, "sign_in/code.html", context, status=status)
        page.headers["Cache-Control"] = "no-store"
        return page


def after_first_step(request: HttpRequest, author: User, proof: Proof, go_to: str) -> HttpResponse:
    """Sign the author in, or ask for the second step."""
    if proof.is_two_steps:
        return finish_sign_in(request, author, proof, go_to)
    if two_step_devices.is_on(author):
        request.session.cycle_key()
        request.session[_WAITS_FOR_CODE] = signing.dumps(
            [str(author.pk), author.get_session_auth_hash()], salt=_WAITS_FOR_CODE
        )
        return redirect_to_login(go_to, reverse("admin:login"))
    # Without this check, somebody who knows only the password could set up codes of their own.
    methods = two_step_methods(author) if settings.REQUIRE_SECOND_FACTOR else set()
    if SignInMethod.PASSKEY in methods:
        sentence = _("This site needs two steps. Sign in with your passkey.")
        return back_to_sign_in(request, sentence, go_to)
    if methods:
        sentence = _("This site needs two steps. Sign in with {name}.")
        return back_to_sign_in(request, sentence.format(name=settings.OIDC_NAME), go_to)
    return finish_sign_in(request, author, proof, go_to)


def address_after_sign_in(request: HttpRequest) -> str:
    """Return the requested address if it is of this site, otherwise the first page."""
    view = SignIn()
    view.setup(request)
    return view.get_success_url()


def back_to_sign_in(request: HttpRequest, error: str, go_to: str) -> HttpResponse:
    """Redirect to the sign-in page, which shows the error."""
    messages.error(request, error)
    return redirect_to_login(go_to, reverse("admin:login"))


def _author_waiting_for_code(request: HttpRequest) -> User | None:
    """Return the author whose password was right less than ten minutes ago."""
    try:
        key, session_hash = signing.loads(
            request.session.get(_WAITS_FOR_CODE, ""), salt=_WAITS_FOR_CODE, max_age=TEN_MINUTES_S
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
