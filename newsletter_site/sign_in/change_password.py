"""The page where authors change their own password."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.password_validation import password_validators_help_texts
from django.contrib.auth.views import PasswordChangeView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse_lazy
from django.utils.translation import gettext as _

from newsletter_site.sign_in.throttle import count_failure, may_try


class OwnPasswordForm(PasswordChangeForm):
    """Django's form, for the template of controls of the desk."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "auto_id": "%s"})
        self.fields["new_password1"].help_text = " ".join(password_validators_help_texts())


class ChangePassword(PasswordChangeView):
    """Django's form on a page of the desk.

    A wrong old password counts as a failed sign-in.
    """

    form_class = OwnPasswordForm
    template_name = "sign_in/password.html"
    success_url = reverse_lazy("profile")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        name = request.user.get_username()
        if not may_try(request, name):
            return HttpResponse(status=429)
        with transaction.atomic():
            form = self.form_class(**{**self.get_form_kwargs(), "user": self._locked_account()})
            response = self.form_valid(form) if form.is_valid() else self.form_invalid(form)
        if form.has_error("old_password", "password_incorrect"):
            count_failure(request, name)
        elif form.is_valid():
            messages.success(
                request,
                _(
                    "Your password was changed. You are signed out everywhere else. Your tokens "
                    "keep working. If someone else may know the old password, revoke the tokens "
                    "that you do not know."
                ),
            )
        return response

    def _locked_account(self) -> Any:
        accounts = get_user_model().objects.select_for_update(no_key=True)
        return get_object_or_404(accounts, pk=self.request.user.pk)


change_password = admin.site.admin_view(ChangePassword.as_view())
