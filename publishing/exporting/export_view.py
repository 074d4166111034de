"""Show the page “Download everything”: request, watch and download an export."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.formats import date_format
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from delivery.reports.worker_warnings import task_sentence
from delivery.tasks.leased_task_columns import TaskState
from publishing.activity.record_issue_activity import record_task
from publishing.desk_access import desk_page, user_id_of
from publishing.exporting import export_task
from publishing.models import Export
from subscribers.desk_frame import may_manage_readers


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def export_page(request: HttpRequest) -> HttpResponse:
    """Show the newest export; on POST, request an export unless one is still open."""
    if request.method == "POST":
        _export, is_new = export_task.request_export(user_id_of(request))
        if not is_new:
            messages.info(request, _("An export is already being written."))
        return redirect("desk:export")
    newest = export_task.newest_export()
    context = {
        "task": newest,
        "sentence": task_sentence(newest),
        "kept_days": export_task.KEPT.days,
    }
    return desk_page(request, "publishing/exporting/export.html", context)


@may_manage_readers
@require_safe
def download_export(request: HttpRequest, export_id: int) -> HttpResponseBase:
    """Stream a finished export; if it has expired, redirect to the page of exports."""
    export = Export.objects.filter(pk=export_id, state=TaskState.FINISHED).first()
    if export is None:
        messages.warning(request, _("This export is no longer stored. Request a new one."))
        return redirect("desk:export")
    name = f"homing-{date_format(export.requested_at, 'Y-m-d')}.zip"
    return export_response(export, name, user_id_of(request))


def export_response(export: Export, name: str, by: uuid.UUID) -> StreamingHttpResponse:
    """Return a response that streams the ZIP file, and record the download.

    Caches do not keep the file.
    """
    record_task("download_export", by, export)
    headers = {
        "Content-Disposition": content_disposition_header(True, name) or "attachment",
        "Content-Length": str(export.done),
        "Cache-Control": "no-store",
    }
    return StreamingHttpResponse(
        export_task.stored_pieces(export), content_type="application/zip", headers=headers
    )
