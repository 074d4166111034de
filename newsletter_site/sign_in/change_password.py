"""The admin's page where users change their own password."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.forms import AdminPasswordChangeForm
from django.contrib.auth import get_user_model
from django.contrib.auth.views import PasswordChangeView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse_lazy

from newsletter_site.sign_in.throttle import count_failure, may_try


class ChangePassword(PasswordChangeView):
    """Django's page. A wrong old password counts as a failed sign-in."""

    form_class = AdminPasswordChangeForm
    success_url = reverse_lazy("admin:password_change_done")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        name = request.user.get_username()
        if not may_try(request, name):
            return HttpResponse(status=429)
        with transaction.atomic():
            form = self.form_class(**{**self.get_form_kwargs(), "user": self._locked_account()})
            response = self.form_valid(form) if form.is_valid() else self.form_invalid(form)
        if form.has_error("old_password", "password_incorrect"):
            count_failure(request, name)
        return response

    def _locked_account(self) -> Any:
        accounts = get_user_model().objects.select_for_update(no_key=True)
        return get_object_or_404(accounts, pk=self.request.user.pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), **admin.site.each_context(self.request)}


change_password = admin.site.admin_view(ChangePassword.as_view())
