"""
The preview of a letter: an answer of its own, under a policy of its own (docs/decisions/0020).

Nothing in it runs or posts, and nothing is fetched but pictures.
"""

from __future__ import annotations

import re
import uuid
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST, require_safe

from publishing.content.draft_content import build_content
from publishing.content.render_preview import Preview, render_preview
from publishing.desk_access import may_write, sees_readers
from publishing.drafts import drafts
from publishing.drafts.draft_form import content_posted, why_too_long, written_posted
from publishing.editions.parse_edition_name import parse_issue_id
from publishing.models import Issue
from publishing.script_request import wants_json

# What the frame on our page allows too: its scroll is ours to keep, and a link opens a window of
# its own. No script, no form, no plug-in.
SANDBOX = "allow-same-origin allow-popups allow-popups-to-escape-sandbox"
_HEAD = re.compile(r"<head\b[^>]*>", re.IGNORECASE)


@may_write
@require_safe
@xframe_options_sameorigin
def draft_preview(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """A draft as it is saved: its HTML, or with `?part=text` its text."""
    found = drafts.load_draft(draft)
    if found is None:
        raise Http404("There is no such draft. It was thrown away, or never saved.")
    slug = found.issue.slug if found.issue else ""
    preview = render_preview(
        build_content(drafts.content_of_draft(found)), sees_readers=sees_readers(request), slug=slug
    )
    return _part(request, preview, request.GET.get("part", ""))


@may_write
@require_safe
@xframe_options_sameorigin
def next_version_preview(request: HttpRequest) -> HttpResponse:
    """The newest words of an issue (`?issue=`), with which its next version is begun."""
    try:
        issue = Issue.objects.get(pk=parse_issue_id(request.GET.get("issue", "")))
        written = drafts.wording_for_issue(issue.pk).written
    except (ValueError, Issue.DoesNotExist) as error:
        raise Http404(str(error)) from None
    made = render_preview(
        build_content(written), sees_readers=sees_readers(request), slug=issue.slug
    )
    return _part(request, made, request.GET.get("part", ""))


@may_write
@require_POST
@xframe_options_sameorigin
def preview(request: HttpRequest) -> HttpResponse:
    """The posted fields, of the composer or of the plain form, as they would be sent."""
    posted = request.POST.dict()
    if sentence := why_too_long(written_posted(posted)):
        return _too_long(request, sentence)
    made = render_preview(content_posted(posted), sees_readers=sees_readers(request))
    return _part(request, made, request.POST.get("part") or request.GET.get("part", ""))


def _too_long(request: HttpRequest, sentence: str) -> HttpResponse:
    """400: what could not be saved is not rendered either, which would take minutes."""
    if wants_json(request):
        return JsonResponse({"sentence": sentence}, status=400)
    return HttpResponse(sentence, content_type="text/plain; charset=utf-8", status=400)


def _part(request: HttpRequest, preview: Preview, part: str) -> HttpResponse:
    answer: HttpResponse
    if wants_json(request):
        facts = {"subject": preview.subject, "html": preview.html, "text": preview.text}
        answer = JsonResponse(facts)
    elif part == "text":
        answer = HttpResponse(preview.text, content_type="text/plain; charset=utf-8")
    else:
        answer = HttpResponse(_links_open_beside(preview.html) or _nothing_yet(preview))
    answer.headers["Content-Security-Policy"] = _policy()
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


def _policy() -> str:
    # Pictures of ours are written with the site's address, whichever name the desk was opened by.
    site = urlsplit(settings.SITE_URL)
    return (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"img-src 'self' https: data: {site.scheme}://{site.netloc}; "
        f"form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox {SANDBOX}"
    )


def _links_open_beside(html: str) -> str:
    """The same letter; a link in it does not take the place of the preview."""
    return _HEAD.sub(lambda head: f'{head[0]}<base target="_blank">', html, count=1)


def _nothing_yet(preview: Preview) -> str:
    return render_to_string("publishing/preview_without_html.html", {"text": preview.text})
