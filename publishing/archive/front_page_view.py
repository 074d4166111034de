"""The front page: sign up, and see what the letter is like."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from delivery.models import Newsletter
from publishing.archive.archived_editions import latest_issues, listed_editions
from subscribers.signup.signup_form import SignUpForm
from subscribers.signup.signup_view import for_one_visitor, form_context

LATEST = 5


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The newsletter, its sign-up form and its latest letters."""
    newsletter = Newsletter.objects.get_current()
    with timezone.override(newsletter.zone):
        response = render(
            request,
            "home.html",
            {
                **form_context(SignUpForm()),
                "newsletter": newsletter,
                "issues": latest_issues(LATEST),
                "count": listed_editions().count(),
            },
        )
    return for_one_visitor(response)
