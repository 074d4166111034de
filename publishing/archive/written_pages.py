"""Show the public pages that the author writes: About and the imprint."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _

from publishing.archive.archive_pages import cached_page
from publishing.content.finish_sanitised_tags import align_by_class
from publishing.content.markdown import render_markdown
from publishing.content.sanitise_html import render_public_issue
from publishing.content.summary import summarise
from publishing.settings.footer_links import is_https_address
from subscribers.links.token_page import newsletter_of


@cached_page
def about(request: HttpRequest) -> HttpResponse:
    """Show the About page; without a text there is no such page."""
    return _written_page(request, _("About"), newsletter_of(request).about)


@cached_page
def imprint(request: HttpRequest) -> HttpResponse:
    """Show the imprint, or redirect to the imprint on another site."""
    written = newsletter_of(request).imprint
    if is_https_address(written):
        return redirect(written)
    return _written_page(request, _("Imprint"), written)


def _written_page(request: HttpRequest, heading: str, markdown: str) -> HttpResponse:
    if not markdown:
        raise Http404
    html = render_markdown(markdown)
    address = settings.SITE_URL + request.path
    body = render_public_issue(
        heading,
        html,
        "",
        leave_url=settings.SITE_URL + reverse("subscribers:ask_to_leave"),
        choose_url=settings.SITE_URL + reverse("subscribers:request_data"),
        archive_url=address,
    )
    context = {
        "newsletter": newsletter_of(request),
        "heading": heading,
        "address": address,
        "body": mark_safe(align_by_class(body)),  # noqa: S308 -- sanitised
        "summary": summarise(html, "", ""),
    }
    return render(request, "archive/written_page.html", context)
