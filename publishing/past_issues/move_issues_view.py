"""The page “Move in past issues”: upload an export and follow its move."""

from typing import BinaryIO, cast

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from delivery.reports.worker_warnings import task_sentence
from publishing.desk_access import desk_page, may_publish, user_id_of
from publishing.past_issues import move_task
from publishing.past_issues.report_sentences import error_sentence, refusal_sentence, report_lines
from subscribers.files.bounded_upload import BoundedUpload, takes_upload
from subscribers.importing import accept_upload
from subscribers.importing.file_format.files_in_zip import lists_in
from subscribers.importing.import_sentences import lists_sentence
from subscribers.links.see_other import see_other


@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
@takes_upload(accept_upload.largest_size)
def move_page(request: HttpRequest, upload: BoundedUpload) -> HttpResponse:
    """Show the newest move; on POST store an export for a worker."""
    if request.method != "POST":
        return _page(request)
    files = request.FILES.getlist("file")
    if upload.is_over:
        return _page(request, refusal_sentence("too_large"))
    if len(files) != 1:
        return _page(request, _("Choose one file."))
    [file] = files
    try:
        with transaction.atomic():
            content = cast("BinaryIO", file.file)
            site, name = request.POST.get("site", ""), file.name or "export"
            move_task.request_move(content, name, site, user_id_of(request))
            readers = lists_sentence(lists_in(content))
    except move_task.MoveRefusedError as error:
        return _page(request, refusal_sentence(error.code))
    if readers:
        link = format_html('<a href="{}">{}</a>', reverse("readers:imports"), _("Imports"))
        messages.info(request, format_html("{} {}", readers, link))
    return see_other(request.path)


def _page(request: HttpRequest, error: str = "") -> HttpResponse:
    move = move_task.newest_move()
    context = {
        "task": move,
        "sentence": task_sentence(move),
        "lines": report_lines(move) if move else [],
        "refusal": error_sentence(move) if move else "",
        "error": error,
        "site": request.POST.get("site", "") if error else "",
        "most_mb": settings.IMPORT_MAX_MB,
    }
    return desk_page(
        request, "publishing/past_issues/move_issues.html", context, status=400 if error else 200
    )
