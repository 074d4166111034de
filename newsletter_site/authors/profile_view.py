"""The profile of the signed-in author: name, language, sessions, and leaving."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override
from django.views.decorators.http import require_http_methods, require_POST

from delivery.humanise import counted
from newsletter_site.authors import change_author
from newsletter_site.authors.authors_view import posted_successor
from newsletter_site.authors.lock_accounts import AccountRefusedError
from newsletter_site.authors.open_sessions import end_sessions, open_sessions
from newsletter_site.middleware.browser_language import DESK_LANGUAGES, in_browser_language
from newsletter_site.models import User
from newsletter_site.sign_in.reauthenticate import identity_error
from publishing.desk_access import desk_page, signed_in
from publishing.desk_permissions import MAY_LOOK
from publishing.one_line_field import OneLineField
from subscribers.links.see_other import see_other
from subscribers.reader_permissions import MANAGE
from subscribers.record_activity import record_activity

MOST_SESSIONS = 20


class ProfileForm(forms.Form):
    """The name of an author, and the language of the desk."""

    name = OneLineField(
        label=gettext_lazy("Name"),
        max_length=150,
        required=False,
        help_text=gettext_lazy(
            "Readers see it on your letters. Without a name, the desk shows your user name, and "
            "readers see none."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language of the desk"),
        required=False,
        help_text=gettext_lazy("Letters and readers’ pages keep the newsletter’s language."),
    )

    def __init__(self, author: User, data: Any = None) -> None:
        initial = {"name": author.get_full_name(), "language": author.language}
        super().__init__(data, initial=initial, auto_id="%s")
        names = dict(settings.LANGUAGES)
        self.fields["language"].choices = [  # type: ignore[attr-defined]
            ("", _("The browser’s language")),
            *((code, names[code]) for code in DESK_LANGUAGES),
        ]


@signed_in
@require_http_methods(["GET", "HEAD"])
def start(request: HttpRequest) -> HttpResponse:
    """Redirect to the first page of the desk that the author may open."""
    sees_issues = any(map(request.user.has_perm, (*MAY_LOOK, MANAGE)))
    return redirect("desk:issues" if sees_issues else "profile")


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    """Show the profile; on POST, save the name and the language."""
    author = _author(request)
    form = ProfileForm(author, request.POST if request.method == "POST" else None)
    if form.is_valid():
        author.first_name, author.last_name = form.cleaned_data["name"], ""
        author.language = form.cleaned_data["language"]
        author.save(update_fields=["first_name", "last_name", "language"])
        # The next page has the chosen language.
        with override(author.language) if author.language else in_browser_language(request):
            messages.success(request, _("Your profile is saved."))
        return see_other(reverse("profile"))
    sessions = open_sessions(author, request.session.session_key)
    context = {
        "form": form,
        "role": change_author.role_of(author),
        "role_words": change_author.describe_role(author),
        "sessions": sessions[:MOST_SESSIONS],
        "more_sessions": max(0, len(sessions) - MOST_SESSIONS),
        "others": sum(not one.is_this for one in sessions),
    }
    return desk_page(request, "authors/profile.html", context, status=422 if form.errors else 200)


@signed_in
@require_POST
def sign_out_elsewhere(request: HttpRequest) -> HttpResponse:
    """End all other sessions of the author."""
    author = _author(request)
    ended = end_sessions(author, besides=request.session.session_key)
    if ended:
        record_activity("sign_out_elsewhere", author.pk, author, sessions=ended)
    done = counted("{n} other session has ended.", "{n} other sessions have ended.", ended)
    messages.success(request, done if ended else _("You are signed in nowhere else."))
    return see_other(reverse("profile"))


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def leave_page(request: HttpRequest) -> HttpResponse:
    """Ask the author to confirm; on POST, hand over or leave, by the field `do`."""
    author, error = _author(request), ""
    if request.method == "POST":
        try:
            return _hand_over(request) if request.POST.get("do") == "hand-over" else _leave(request)
        except AccountRefusedError as refused:
            error = str(refused)
    context = {
        "work": change_author.work_of(author),
        "successors": change_author.successors_of(author),
        "chosen_successor": request.POST.get("successor", ""),
        "error": error,
    }
    page = desk_page(request, "authors/leave_the_desk.html", context, status=409 if error else 200)
    page.headers["Cache-Control"] = "no-store"
    return page


def _hand_over(request: HttpRequest) -> HttpResponse:
    author = _author(request)
    drafts = change_author.hand_over(author.pk, posted_successor(request, author), author)
    done = counted("{n} draft is handed over.", "{n} drafts are handed over.", drafts)
    messages.success(request, done)
    return see_other(reverse("profile"))


def _leave(request: HttpRequest) -> HttpResponse:
    author = _author(request)
    if error := identity_error(request):
        raise AccountRefusedError("{} {}".format(error, _("Nothing was changed.")))
    successor = posted_successor(request, author) if request.POST.get("successor") else None
    change_author.leave(author.pk, successor)
    logout(request)
    return render(request, "authors/you_left.html")


def _author(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101 -- the guard has refused everyone else
    return request.user
