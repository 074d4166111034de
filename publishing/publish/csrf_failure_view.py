"""Answer a form whose CSRF token belongs to an older session, with its words in a fresh form."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from publishing.composer import composer_view
from publishing.permissions import MAY_WRITE, PUBLISH
from publishing.publish import html_form_view
from publishing.test_letters import test_letter_view
from subscribers.signup import confirm_view, signup_view
from subscribers.signup.signup_form import SignUpForm

OLDER = (
    "This form was older than your present session, and nothing was {}. "
    "Your words are here, word for word; press again."
)
OTHER_FORM = (
    "This form is older than your present session. Nothing was changed. "
    "Go back, load the page again, and press once more."
)
COMPOSER = {"desk:drafts", "desk:draft"}


def csrf_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's CSRF_FAILURE_VIEW."""
    match = request.resolver_match
    name = match.view_name if match else ""
    may_write = any(map(request.user.has_perm, MAY_WRITE))
    if name in {"desk:publish", "desk:test", *COMPOSER} and not request.user.is_authenticated:
        # These views store the words as a draft and lead to the login page.
        assert match is not None  # noqa: S101
        kept: HttpResponse = match.func(request, *match.args, **match.kwargs)
        return kept
    if name == "desk:publish" and request.user.has_perm(PUBLISH):
        return html_form_view.form_again(request, notice="csrf", status=403)
    if name == "desk:test" and may_write:
        return test_letter_view.form_again(request, OLDER.format("sent"), status=403)
    if name in COMPOSER and may_write:
        return composer_view.form_again(request, notice=OLDER.format("saved"), status=403)
    if name == "subscribers:sign_up":
        form = SignUpForm(request.POST.dict())
        return signup_view.form_page(request, form, notice="csrf", status=403)
    if name == "subscribers:confirm":
        return confirm_view.link_page(request, must_press_again=True)
    return render(request, "403.html", {"exception": OTHER_FORM}, status=403)
