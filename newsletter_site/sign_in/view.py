"""The page where everybody signs in. It translates; counting is done behind it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import login
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from newsletter_site.sign_in import known_browser


class SignIn(LoginView):
    """The admin's login page, which is that of the desk too."""

    template_name = "admin/login.html"
    authentication_form = AdminAuthenticationForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Whoever is signed in is led on, as the admin does."""
        if request.method == "GET" and admin.site.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """What the page shows."""
        return {
            **super().get_context_data(**kwargs),
            "app_path": self.request.get_full_path(),
            "username": self.request.user.get_username(),
        }

    def form_valid(self, form: AdminAuthenticationForm) -> HttpResponse:
        """The password was right."""
        author = form.get_user()
        login(self.request, author)
        response = HttpResponseRedirect(self.get_success_url())
        known_browser.mark(response, author.get_username())
        return response


sign_in = SignIn.as_view()


@require_safe
def let_in(request: HttpRequest, token: str) -> HttpResponse:
    """The link that `manage.py let_in` prints: this browser is known from now on."""
    response = HttpResponseRedirect(reverse("admin:login"))
    if not known_browser.mark_by_link(response, token):
        return render(request, "sign_in/link_too_old.html", status=410)
    return response
