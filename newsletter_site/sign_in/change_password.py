"""The admin's page where somebody gives themselves a new password, by the old one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.forms import AdminPasswordChangeForm
from django.contrib.auth import get_user_model
from django.contrib.auth.views import PasswordChangeView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse_lazy

from newsletter_site.sign_in import attempts
from newsletter_site.sign_in.attempts import Refused
from newsletter_site.sign_in.axes_handler import say_that_it_failed, take_a_try
from newsletter_site.sign_in.wait_page import refused_page


class NewPassword(PasswordChangeView):
    """As the admin has it; but a wrong old password counts like one at the sign-in page."""

    form_class = AdminPasswordChangeForm
    success_url = reverse_lazy("admin:password_change_done")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Count a try before the old password is looked at, and take it back if it was right."""
        name = request.user.get_username()
        tried = take_a_try(request, name)
        if isinstance(tried, Refused):
            return refused_page(request)
        with transaction.atomic():
            form = self.form_class(**{**self.get_form_kwargs(), "user": self._held_account()})
            answer = self.form_valid(form) if form.is_valid() else self.form_invalid(form)
        if form.has_error("old_password", "password_incorrect"):
            say_that_it_failed(request, name, "an old password was wrong, signed in")
        else:
            attempts.take_back(tried)
        return answer

    def _held_account(self) -> Any:
        """The account as it is now: of two windows the second has to know what the first set."""
        accounts = get_user_model().objects.select_for_update(no_key=True)
        return get_object_or_404(accounts, pk=self.request.user.pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """What every page of the admin shows besides."""
        return {**super().get_context_data(**kwargs), **admin.site.each_context(self.request)}


new_password = admin.site.admin_view(NewPassword.as_view())
