"""Show the public pages: front page, archive, issues and feed."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers, patch_cache_control
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import conditional_page, require_safe

from delivery.models import Edition
from publishing.archive.archived_editions import (
    latest_issues,
    listed_editions,
    listed_issues_of,
    published_editions,
)
from publishing.archive.atom_feed import IssueFeed
from publishing.content.edition_content import plain_title
from publishing.content.finish_sanitised_tags import align_by_class
from publishing.content.sanitise_html import first_image, render_public_issue
from publishing.content.summary import summarise
from publishing.editions.edition_status import LARGE_COLUMNS
from publishing.editions.slug_from_title import first_address
from subscribers.links.token_page import newsletter_of
from subscribers.signup.signup_form import SignUpForm
from subscribers.signup.signup_view import cacheable_form_context, for_one_visitor, form_context

PAGE, ON_FRONT_PAGE, INSTEAD = 50, 5, 3
# The number of seconds for which caches keep a page. One minute is short enough that corrections
# appear soon, and long enough that many visitors cause few queries.
FRESH_S = 60
# These pages show the sanitised content of authors. The policy forbids scripts, and lets the pages
# post forms only to our own site.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data: https:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)

View = Callable[..., HttpResponse]


def cached_page(view: View) -> View:
    """Let caches keep a page for a minute, then revalidate it; send `POLICY` with it."""
    conditional = conditional_page(view)

    @require_safe
    @wraps(view)
    def page(request: HttpRequest, /, *args: Any, **kwargs: Any) -> HttpResponse:
        answer: HttpResponse = conditional(request, *args, **kwargs)
        answer.headers["Content-Security-Policy"] = POLICY
        if "Cache-Control" not in answer.headers:
            patch_cache_control(answer, public=True, max_age=FRESH_S)
        return answer

    return page


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the newsletter, its sign-up form and its latest issues."""
    context = {
        **form_context(SignUpForm()),
        "issues": latest_issues(ON_FRONT_PAGE),
        "count": listed_editions().count(),
    }
    return for_one_visitor(_public_page(request, "archive/front_page.html", context))


@cached_page
def index(request: HttpRequest) -> HttpResponse:
    """Show the list of issues, newest first, without unlisted issues."""
    editions = listed_editions()
    page = Paginator(editions, PAGE).get_page(request.GET.get("page"))
    address = f"{settings.SITE_URL}{reverse('archive:index')}"
    return _public_page(
        request,
        "archive/archive_index.html",
        {
            "page": page,
            "issues": listed_issues_of(editions, max(page.start_index() - 1, 0), page.end_index()),
            "address": f"{address}?page={page.number}" if page.number > 1 else address,
        },
    )


@cached_page
def issue(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the newest public edition of an issue."""
    edition = published_editions().filter(issue__slug=slug).first()
    if edition is None:
        return not_there(request, slug)
    unlisted, earlier = edition.issue.unlisted, None
    if not unlisted:
        before = listed_editions().filter(first_public_at__lt=edition.first_public_at)
        earlier = before.defer(*LARGE_COLUMNS).first()
    body = render_edition(edition)
    page = _public_page(
        request,
        "archive/issue.html",
        {
            "edition": edition,
            "title": plain_title(edition),
            "body": mark_safe(align_by_class(body)),  # noqa: S308 -- sanitised
            **cacheable_form_context(),
            "summary": summarise(edition.html_content, edition.text_content, edition.preview_text),
            "image": first_image(body, settings.SITE_URL),
            "unlisted": unlisted,
            "earlier": earlier,
            "earlier_title": plain_title(earlier) if earlier else "",
        },
    )
    if unlisted:
        page.headers["X-Robots-Tag"] = "noindex"
        add_never_cache_headers(page)
    return page


@cached_page
def not_there(request: HttpRequest, rest: str) -> HttpResponse:
    """Redirect an address such as `/archive/slug/)` to its issue, or answer 404.

    Caches do not keep the answer, because the issue may be published in a moment.
    """
    page: HttpResponse
    # Remove characters that were copied together with the address, such as a bracket.
    slug = first_address(rest)
    if slug and published_editions().filter(issue__slug=slug).exists():
        page = HttpResponseRedirect(reverse("archive:issue", args=[slug]))
    else:
        page = _public_page(
            request, "archive/not_there.html", {"issues": latest_issues(INSTEAD)}, status=404
        )
    add_never_cache_headers(page)
    return page


@cached_page
def feed(request: HttpRequest) -> HttpResponse:
    """Return the latest issues as Atom, with their content."""
    answer: HttpResponse = IssueFeed(render_edition)(request)
    del answer.headers["Last-Modified"]
    return answer


def render_edition(edition: Edition) -> SafeString:
    """Return the letter of an edition for the public."""
    return render_public_issue(
        plain_title(edition),
        edition.html_content,
        edition.text_content,
        leave_url=settings.SITE_URL + reverse("subscribers:ask_to_leave"),
        choose_url=settings.SITE_URL + reverse("subscribers:request_data"),
        archive_url=edition.archive_url,
    )


def _public_page(
    request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    newsletter = newsletter_of(request)
    with timezone.override(newsletter.zone):
        return render(request, template, {"newsletter": newsletter, **context}, status=status)
