"""Serve the style sheet of the newsletter's look."""

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

from delivery.mail.look import look_of
from delivery.models import Newsletter
from publishing.content.look_sheet import look_sheet, version_of

YEAR_S, MINUTE_S = 31_536_000, 60


@require_safe
def serve_look(request: HttpRequest) -> HttpResponse:
    """Serve the style sheet. Caches keep the version of the address for a year."""
    sheet = look_sheet(look_of(Newsletter.objects.get_current()))
    answer = HttpResponse(sheet, content_type="text/css; charset=utf-8")
    is_current = request.GET.get("v") == version_of(sheet)
    patch_cache_control(answer, public=True, max_age=YEAR_S if is_current else MINUTE_S)
    return answer
