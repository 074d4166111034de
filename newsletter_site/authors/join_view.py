"""The page behind the link of an invitation, where the account is made."""

from typing import Any

from django import forms
from django.contrib.auth.password_validation import password_validators_help_texts
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from delivery.models import Newsletter
from newsletter_site.authors import invitations
from newsletter_site.authors.invitations import Accepted
from newsletter_site.authors.lock_accounts import AccountRefusedError
from newsletter_site.models import Invitation
from newsletter_site.sign_in.finish_sign_in import Proof, finish_sign_in
from newsletter_site.sign_in.throttle import count_failure, may_try
from publishing.desk_roles import ROLES
from publishing.one_line_field import OneLineField

_NEW_PASSWORD = {"autocomplete": "new-password", "maxlength": "4096"}


class JoinForm(forms.Form):
    """The user name, the name and the password that an invited person chooses."""

    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=150,
        help_text=gettext_lazy("You sign in with it. Readers never see it."),
        widget=forms.TextInput(
            attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )
    name = OneLineField(
        label=gettext_lazy("Name"),
        max_length=150,
        help_text=gettext_lazy("Readers see it on your letters."),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"), strip=False, widget=forms.PasswordInput(_NEW_PASSWORD)
    )
    again = forms.CharField(
        label=gettext_lazy("Password again"), strip=False, widget=forms.PasswordInput(_NEW_PASSWORD)
    )

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, auto_id="%s", **options)

    def clean(self) -> dict[str, Any]:
        typed = self.cleaned_data
        if typed.get("password") and typed.get("again") not in (None, typed["password"]):
            self.add_error("again", _("The two passwords differ. Type the same one twice."))
        return typed


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show the invitation; on POST, make the account and sign in."""
    invitation = invitations.open_invitation(token)
    if invitation is None:
        return _closed_page(request)
    if request.method != "POST":
        suggested = {"name": invitation.name, "username": invitation.address.partition("@")[0]}
        return _page(request, invitation, JoinForm(initial=suggested))
    # Only invited people learn that a user name is taken, and only a few times.
    throttled = f"invitation {invitation.number}"
    if not may_try(request, throttled):
        return HttpResponse(status=429)
    form = JoinForm(request.POST)
    if not form.is_valid():
        return _page(request, invitation, form)
    typed = form.cleaned_data
    try:
        author = invitations.accept(
            invitation.number, Accepted(typed["username"], typed["name"], typed["password"])
        )
    except AccountRefusedError as error:
        form.add_error(None, str(error))
    except ValidationError as error:
        form.add_error(None, error)
        if "username" in error.message_dict:
            count_failure(request, throttled)
    else:
        if author is None:
            return _closed_page(request)
        # If every account needs two-step sign-in, this page leads to its set-up.
        return finish_sign_in(request, author, Proof(), reverse("profile"))
    return _page(request, invitation, form)


def _page(request: HttpRequest, invitation: Invitation, form: JoinForm) -> HttpResponse:
    context = {
        "invitation": invitation,
        "role": ROLES.get(invitation.role),
        "newsletter": Newsletter.objects.get_current(),
        "form": form,
        "password_rules": password_validators_help_texts(),
    }
    return render(request, "authors/join.html", context, status=422 if form.errors else 200)


def _closed_page(request: HttpRequest) -> HttpResponse:
    return render(request, "authors/invitation_ended.html", status=410)
