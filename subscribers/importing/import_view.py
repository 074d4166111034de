"""Imports on the desk: upload, check, look, decide; and the history of what was imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from subscribers.desk_access import desk_page, may_manage_readers, operator_of
from subscribers.files.bounded_upload import BoundedUpload
from subscribers.importing import accept_upload, stored_file
from subscribers.importing.accept_upload import Statement
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.read_file import ReaderFile
from subscribers.importing.import_file import left_out_of
from subscribers.importing.import_page import standing_of
from subscribers.importing.rejects_file import HEADER, line_of
from subscribers.importing.report import read_as
from subscribers.links.see_other import see_other
from subscribers.models import LeftOutRow, SubscriberImport
from subscribers.models.subscriber_import import LONGEST_STATEMENT
from subscribers.record_activity import record_import_activity

PAGE = 25
REJECTS_SHOWN = 50
State = SubscriberImport.State


# The token is looked at below, once the upload has a bound: looking at it reads the whole form.
@csrf_exempt
@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def imports(request: HttpRequest) -> HttpResponseBase:
    """GET shows the history and a form, POST takes a file to be checked."""
    bounded = BoundedUpload(stored_file.most_bytes())
    request.upload_handlers = [bounded]
    return _imports(request, bounded)


@csrf_protect
def _imports(request: HttpRequest, bounded: BoundedUpload) -> HttpResponse:
    if request.method != "POST":
        return _history(request)
    files = request.FILES.getlist("file")
    if bounded.is_over:
        return _history(request, stored_file.too_large())
    if not files:
        return _history(request, "Choose a file first.")
    if len(files) > 1:
        return _history(request, f"{len(files)} files came; choose one after the other.")
    [file] = files
    bytes_of_it = cast("BinaryIO", file.file)  # open until the request ends
    try:
        with ReaderFile(bytes_of_it, file.name or "") as readers, transaction.atomic():
            record, is_new = accept_upload.receive_to_check(
                readers, bytes_of_it, file.name or "a file", request.user
            )
            if is_new:
                record_import_activity("upload", operator_of(request), record)
    except UnreadableFileError as error:
        return _history(request, str(error))
    if not is_new:
        messages.info(request, _it_was_there(record))
    return _see(record.pk)


@may_manage_readers
@require_safe
def show_import(request: HttpRequest, import_id: int) -> HttpResponse:
    """One import: what would happen, what happens or what happened."""
    return _import_page(request, _named(import_id))


@may_manage_readers
@require_safe
def import_json(request: HttpRequest, import_id: int) -> HttpResponse:
    """How far it is, for the script of its page."""
    standing = standing_of(_named(import_id))
    return JsonResponse(standing.as_json(), headers={"Cache-Control": "no-store"})


@may_manage_readers
@require_safe
def rejects_csv(request: HttpRequest, import_id: int) -> HttpResponseBase:
    """All rejected rows as a file: line, email, reason."""
    record = _named(import_id)
    name = f"rejected from {record.filename.rpartition('.')[0] or record.filename}.csv"
    return StreamingHttpResponse(
        _rejects(record),
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": content_disposition_header(True, name) or "attachment",
            "Cache-Control": "no-store",
        },
    )


@may_manage_readers
@require_POST
def decide_import(request: HttpRequest, import_id: int) -> HttpResponse:
    """Have what was checked imported, on the statement of whoever presses. Twice is once."""
    record = _named(import_id)
    where = " ".join(request.POST.get("where", "").split())
    elsewhere = request.POST.get("consent") == "elsewhere"
    if elsewhere and record.state == State.CHECKED:
        error = _what_is_missing(where, states_it=bool(request.POST.get("states_it")))
        if error:
            return _import_page(request, record, error=error, where=where)
    statement = Statement(confirmed=elsewhere, where=where, importer=request.user)
    with transaction.atomic():
        if accept_upload.decide(import_id, statement):
            record_import_activity("import", operator_of(request), _named(import_id))
    return _see(import_id)


@may_manage_readers
@require_POST
def drop_import(request: HttpRequest, import_id: int) -> HttpResponse:
    """Forget what was checked and not imported."""
    record = _named(import_id)
    with transaction.atomic():
        dropped = accept_upload.drop(import_id)
        if dropped:
            record_import_activity("discard", operator_of(request), record)
    if not dropped:
        messages.warning(request, "It is imported or deleted already; there is nothing to drop.")
        return _see(import_id)
    messages.success(request, f"{record.filename} was dropped. Nobody was imported from it.")
    return see_other(reverse("readers:imports"))


def _history(request: HttpRequest, error: str = "") -> HttpResponse:
    everything = SubscriberImport.objects.select_related("imported_by").order_by("-id")
    page = Paginator(everything, PAGE).get_page(request.GET.get("page"))
    return desk_page(
        request,
        "subscribers/imports.html",
        {
            "error": error,
            "page": page,
            "rows": [(record, standing_of(record)) for record in page],
            "most_mb": stored_file.most_bytes() // stored_file.MEGABYTE,
        },
    )


def _import_page(
    request: HttpRequest, record: SubscriberImport, *, error: str = "", where: str = ""
) -> HttpResponse:
    after = request.GET.get("after", "")
    first = int(after) if after.isascii() and after.isdecimal() and len(after) < 10 else 0
    rejects = list(
        LeftOutRow.objects.filter(
            subscriber_import=record, result=LeftOutRow.Result.REJECTED, line__gt=first
        ).order_by("line")[: REJECTS_SHOWN + 1]
    )
    standing = standing_of(record)
    return desk_page(
        request,
        "subscribers/import.html",
        {
            "record": record,
            "standing": standing,
            "read_as": read_as(record),
            "content": bytes(record.content_hash).hex(),
            "rejects": [] if standing.is_under_way else rejects[:REJECTS_SHOWN],
            "next": rejects[REJECTS_SHOWN - 1].line if len(rejects) > REJECTS_SHOWN else None,
            "is_paged": first > 0,
            "error": error,
            "where": where,
            "longest": LONGEST_STATEMENT,
        },
    )


def _named(import_id: int) -> SubscriberImport:
    try:
        return SubscriberImport.objects.select_related("imported_by").get(pk=import_id)
    except (SubscriberImport.DoesNotExist, OverflowError) as error:
        raise Http404("There is no such import; perhaps it was dropped.") from error


def _what_is_missing(where: str, *, states_it: bool) -> str:
    if not states_it:
        return "Tick that these people gave their consent elsewhere, or have each of them asked."
    if not where:
        return "Say where and how they gave their consent; it goes on record."
    if len(where) > LONGEST_STATEMENT:
        return f"This has {len(where)} characters; at most {LONGEST_STATEMENT} are kept."
    return ""


def _it_was_there(record: SubscriberImport) -> str:
    if record.state in (State.FINISHED, State.WAITING, State.RUNNING):
        return "The content of this file was imported before. Nothing was done now."
    return "The content of this file was uploaded before and is not imported yet. Here it is."


def _rejects(record: SubscriberImport) -> Iterator[str]:
    yield HEADER
    for row in left_out_of(record):
        if row.is_rejected:
            yield line_of(row)


def _see(import_id: int) -> HttpResponse:
    return see_other(reverse("readers:import", args=[import_id]))
