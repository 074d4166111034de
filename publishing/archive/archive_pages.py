"""Show the public pages: front page, archive, issues and feed."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.request import split_domain_port
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers, patch_cache_control
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import conditional_page, require_safe

from delivery.models import Edition
from publishing.archive.archived_editions import (
    latest_issues,
    listed_editions,
    listed_issues_of,
    neighbours,
    published_editions,
)
from publishing.archive.atom_feed import IssueFeed
from publishing.archive.link_preview import news_article, preview_image
from publishing.archive.shown_images import fit_to_page, shown_images
from publishing.content.edition_content import plain_title
from publishing.content.finish_sanitised_tags import align_by_class
from publishing.content.letter_images import first_image
from publishing.content.sanitise_html import render_public_issue
from publishing.content.summary import summarise
from publishing.content.word_count import estimate_word_count, reading_minutes
from publishing.editions.slug_from_title import first_address
from publishing.templatetags.desk import signature
from subscribers.links.token_page import newsletter_of
from subscribers.signup.signup_form import SignUpForm
from subscribers.signup.signup_view import cacheable_form_context, for_one_visitor, form_context

PAGE, ON_FRONT_PAGE, INSTEAD = 50, 5, 3
# The number of seconds for which caches keep a page. One minute is short enough that corrections
# appear soon, and long enough that many visitors cause few queries.
FRESH_S = 60
# These pages show the sanitised content of authors. The policy forbids scripts, and lets the pages
# post forms only to our own site. Only the page of a letter may run a script, and only
# `COPY_SCRIPT` (docs/decisions/0069-public-pages.md).
# Programs that score pages fetch `robots.txt` from the page, which `connect-src` allows.
ARCHIVE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data: https:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
COPY_SCRIPT = "copy.js"

View = Callable[..., HttpResponse]


def cached_page(view: View, script: str = "") -> View:
    """Send `ARCHIVE_POLICY`, and let caches keep a page for a minute.

    `script` is a static file that the page may run.
    """
    conditional = conditional_page(view)

    @require_safe
    @gzip_page
    @wraps(view)
    def page(request: HttpRequest, /, *args: Any, **kwargs: Any) -> HttpResponse:
        answer: HttpResponse = conditional(request, *args, **kwargs)
        # The answer 304 needs the policy too, because browsers then replace the stored policy.
        answer.headers.setdefault("Content-Security-Policy", _policy(request, script))
        if "Cache-Control" not in answer.headers:
            patch_cache_control(answer, public=True, max_age=FRESH_S)
        return answer

    return page


def _policy(request: HttpRequest, script: str) -> str:
    if not script:
        return ARCHIVE_POLICY
    # The host has no port, because some proxies do not pass the port on.
    host, _port = split_domain_port(request.get_host())
    return f"{ARCHIVE_POLICY}; script-src {host}:*{static(script)}"


@require_safe
@gzip_page
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


@partial(cached_page, script=COPY_SCRIPT)
def issue(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the newest public edition of an issue."""
    edition = published_editions().filter(issue__slug=slug).first()
    if edition is None:
        return not_there(request, slug)
    newsletter, unlisted = newsletter_of(request), edition.issue.unlisted
    earlier, later = (None, None) if unlisted else neighbours(edition)
    title, body = plain_title(edition), render_edition(edition)
    summary = summarise(edition.html_content, edition.text_content, edition.preview_text)
    [first] = shown_images([first_image(body)])
    page = _public_page(
        request,
        "archive/issue.html",
        {
            "edition": edition,
            "title": title,
            "body": mark_safe(fit_to_page(align_by_class(body))),  # noqa: S308 -- sanitised
            **cacheable_form_context(),
            "minutes": reading_minutes(estimate_word_count(body)),
            "reply": reply_link(edition.reply_to or newsletter.reply_to, title),
            "summary": summary,
            "first_image": first,
            "article": news_article(
                newsletter,
                title=title,
                summary=summary,
                url=edition.archive_url,
                author=signature(edition.author),
                published_at=edition.first_public_at,
                modified_at=edition.corrected_at or edition.first_public_at,
                image=preview_image(first, newsletter),
            ),
            "unlisted": unlisted,
            "earlier": earlier,
            "later": later,
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
    """Return the latest issues as Atom, with their content if the author wants it."""
    has_letters = newsletter_of(request).feed_has_full_text
    answer: HttpResponse = IssueFeed(render_edition if has_letters else None)(request)
    del answer.headers["Last-Modified"]
    return answer


def reply_link(reply_to: str, title: str) -> str:
    """Return the mailto address of a reply; empty without a reply-to address."""
    subject = quote(f"Re: {title}")
    return f"mailto:{quote(reply_to, safe='@')}?subject={subject}" if reply_to else ""


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
