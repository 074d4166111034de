"""Answer posts that have an older session's CSRF token, and keep their text."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from publishing.composer import composer_view
from publishing.desk_permissions import MAY_WRITE
from publishing.test_letters import send_test_letter_view
from subscribers.signup import signup_view
from subscribers.signup.signup_form import SignUpForm

COMPOSER = {"desk:publish", "desk:drafts", "desk:draft"}


def csrf_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a request without a valid CSRF token (`CSRF_FAILURE_VIEW` of Django)."""
    match = request.resolver_match
    name = match.view_name if match else ""
    may_write = any(map(request.user.has_perm, MAY_WRITE))
    if name in {"desk:test", *COMPOSER} and not request.user.is_authenticated:
        # These views save the text as a draft and redirect to the login page.
        assert match is not None  # noqa: S101
        kept: HttpResponse = match.func(request, *match.args, **match.kwargs)
        return kept
    if name == "desk:test" and may_write:
        sentence = _(
            "This form is older than your current session. Nothing was sent. Your text is here, "
            "unchanged. Press the button again."
        )
        return send_test_letter_view.form_again(request, sentence, status=403)
    if name in COMPOSER and may_write:
        sentence = _(
            "This form is older than your current session. Nothing was saved. Your text is here, "
            "unchanged. Press the button again."
        )
        return composer_view.shown_again(request, notice=sentence, status=403)
    if name == "subscribers:sign_up":
        form = SignUpForm(request.POST.dict())
        return signup_view.form_page(request, form, notice="csrf", status=403)
    if name == "subscribers:confirm":
        return signup_view.link_page(request, must_press_again=True)
    sentence = _(
        "This form is older than your current session. Nothing was changed. Go back, reload the "
        "page and press the button again."
    )
    return render(request, "403.html", {"exception": sentence}, status=403)
