"""
When a form comes without the token that belongs to its session, most often after signing in anew.

Nothing was done, and the words of an author or a reader stand on the page in a form that can be
posted, or are kept for an author who is signed out.
"""

from __future__ import annotations

import time

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from publishing.composer import composer_view
from publishing.permissions import MAY_WRITE, PUBLISH
from publishing.publish.html_form_view import form_again
from publishing.test_letters import test_letter_view
from subscribers.signup import confirm_view, signup_form, signup_view

OLDER = (
    "This form was older than your present session, and nothing was saved. "
    "Your words are here, word for word; press again."
)


KEEP_WORDS = {"desk:publish", "desk:test", "desk:drafts", "desk:draft"}
OLDER_TEST = (
    "This form was older than your present session, and nothing was sent. "
    "Your words are here, word for word; press again."
)


def csrf_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's CSRF_FAILURE_VIEW."""
    match = request.resolver_match
    if match and match.view_name in KEEP_WORDS and not request.user.is_authenticated:
        # These views keep the words for the writer in the signed note, and lead to the login page.
        kept: HttpResponse = match.func(request, *match.args, **match.kwargs)
        return kept
    if request.path == reverse("desk:publish") and request.user.has_perm(PUBLISH):
        return form_again(request, notice="csrf", status=403)
    may_write = any(map(request.user.has_perm, MAY_WRITE))
    if request.path == reverse("desk:test") and may_write:
        return test_letter_view.form_again(request, OLDER_TEST, status=403)
    if _is_composer(request) and may_write:
        return composer_view.form_again(request, notice=OLDER, status=403)
    if request.path == reverse("subscribers:sign_up"):
        form = signup_form.sent(request.POST.dict(), time.time())
        return signup_view.form_page(request, form, notice="csrf", status=403)
    if request.path == reverse("subscribers:confirm"):
        return confirm_view.form_again(request, status=403)
    sentence = (
        "This form is older than your present session. Nothing was changed. "
        "Go back, load the page again, and press once more."
    )
    return render(request, "403.html", {"exception": sentence}, status=403)


def _is_composer(request: HttpRequest) -> bool:
    match = request.resolver_match
    return match is not None and match.view_name in {"desk:drafts", "desk:draft"}
