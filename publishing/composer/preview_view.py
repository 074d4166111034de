"""Show previews of a letter, without scripts and forms (docs/decisions/0020)."""

import re
import uuid
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST, require_safe

from publishing.composer.composer_view import issue_or_404
from publishing.content.draft_content import DraftFields, build_content
from publishing.content.render_preview import render_preview
from publishing.desk_access import may_write, sees_readers, wants_json
from publishing.drafts import save_draft
from publishing.drafts.draft_form import DraftForm, first_error
from publishing.drafts.draft_pages import get_draft_or_404
from publishing.models import Issue

# The sandbox has the same value as on the composer's `iframe`. Links may open windows, but scripts,
# forms and plug-ins are blocked.
SANDBOX = "allow-same-origin allow-popups allow-popups-to-escape-sandbox"
_HEAD = re.compile(r"<head\b[^>]*>", re.IGNORECASE)


@may_write
@require_safe
@xframe_options_sameorigin
def draft_preview(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Render a saved draft as HTML, or with `?part=text` as plain text."""
    found = get_draft_or_404(draft)
    slug = found.issue.slug if found.issue else ""
    return _render(request, found.fields, slug=slug)


@may_write
@require_safe
@xframe_options_sameorigin
def next_version_preview(request: HttpRequest) -> HttpResponse:
    """Render the newest version of an issue, from which the next version starts."""
    issue = issue_or_404(request.GET.get("issue", ""))
    fields = save_draft.fields_for_next_version(issue)
    return _render(request, fields, slug=Issue.objects.get(pk=issue).slug)


@may_write
@require_POST
@xframe_options_sameorigin
def preview(request: HttpRequest) -> HttpResponse:
    """Render the letter in the posted fields."""
    form = DraftForm(request.POST)
    if not form.is_valid():
        # Do not render a refused form, because rendering a text that is too long would take
        # minutes.
        sentence = first_error(form)
        if wants_json(request):
            return JsonResponse({"sentence": sentence}, status=400)
        return HttpResponse(sentence, content_type="text/plain; charset=utf-8", status=400)
    return _render(request, form.written)


def _render(request: HttpRequest, fields: DraftFields, *, slug: str = "") -> HttpResponse:
    preview = render_preview(build_content(fields), sees_readers=sees_readers(request), slug=slug)
    answer: HttpResponse
    if wants_json(request):
        body = {"subject": preview.subject, "html": preview.html, "text": preview.text}
        answer = JsonResponse(body)
    elif (request.POST.get("part") or request.GET.get("part", "")) == "text":
        answer = HttpResponse(preview.text, content_type="text/plain; charset=utf-8")
    else:
        # Links in the letter open a new window, so that they do not replace the preview.
        html = _HEAD.sub(lambda head: f'{head[0]}<base target="_blank">', preview.html, count=1)
        without_html = "publishing/composer/preview_without_html.html"
        answer = HttpResponse(html or render_to_string(without_html, {"text": preview.text}))
    return in_frame(answer)


def in_frame(answer: HttpResponse, styles: str = "'unsafe-inline'") -> HttpResponse:
    """Set the security headers of a page that shows a letter in a frame."""
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["Referrer-Policy"] = "no-referrer"
    # Allow images from the site's address: uploads have this address, even if the author opened the
    # desk under another name.
    site = urlsplit(settings.SITE_URL)
    answer.headers["Content-Security-Policy"] = (
        f"default-src 'none'; style-src {styles}; "
        f"img-src 'self' https: data: {site.scheme}://{site.netloc}; "
        f"form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox {SANDBOX}"
    )
    return answer
