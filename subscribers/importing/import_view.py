"""Imports on the desk, from the upload to the undo, and how to move readers in."""

import uuid
from collections.abc import Mapping
from typing import BinaryIO, cast

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from delivery.humanise import digits
from delivery.models import Newsletter
from subscribers.desk_frame import desk_page, may_manage_readers, user_id_of
from subscribers.files.bounded_upload import BoundedUpload, takes_upload
from subscribers.files.safe_csv import csv_download
from subscribers.importing import accept_upload
from subscribers.importing import import_sentences as sentences
from subscribers.importing.accept_upload import Statement
from subscribers.importing.choose_columns import ColumnError, check_again, column_choices
from subscribers.importing.file_format.files_in_zip import may_be_mailed
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.tag_cell import read_tags
from subscribers.importing.import_page import (
    STATES,
    count_gone,
    list_sentence,
    result_lines,
    status_sentence,
    symbol_of,
    undo_lines,
    why_not_undone,
)
from subscribers.importing.move.product_notes import BECOMES, FILE, PRODUCTS, Product
from subscribers.importing.rejects_file import are_rejects_deleted, reject_lines, rejects_name
from subscribers.importing.undo_import import count_unchanged, find_made, start_undo
from subscribers.links.see_other import see_other
from subscribers.models import RejectedRow, SubscriberImport, Tag
from subscribers.models.subscriber_import import LONGEST_STATEMENT
from subscribers.record_activity import record_import_activity
from subscribers.refusal_sentences import InputRefusal, sentence_of

PAGE = 25
MOST_FILES = 20  # one upload may have at most this number of files
REJECTS_SHOWN = 50
State = SubscriberImport.State
UNDO_STATES = (State.UNDOING, State.UNDONE)


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
@takes_upload(accept_upload.largest_size)
def imports(request: HttpRequest, upload: BoundedUpload) -> HttpResponse:
    """For GET, list the imports with an upload form; for POST, take a file to check."""
    if request.method != "POST":
        return _history(request)
    files = request.FILES.getlist("file")
    if upload.is_over:
        return _history(request, str(accept_upload.too_large()))
    if not files:
        return _history(request, _("Choose a file first."))
    if len(files) > MOST_FILES:
        sentence = _("Nothing was uploaded. Choose at most {n} files.")
        return _history(request, sentence.format(n=MOST_FILES))
    added, found, name = list[str](), list[tuple[SubscriberImport, bool]](), ""
    try:
        with transaction.atomic():
            for file in sorted(files, key=lambda one: may_be_mailed(one.name or "")):
                content, name = cast("BinaryIO", file.file), file.name or "a file"
                lists, new_here = accept_upload.accept_lists(content, name, request.user)
                found += lists
                added += new_here
            if len(found) > 1:
                together = SubscriberImport.objects.filter(pk__in=[one.pk for one, _ in found])
                together.update(upload=uuid.uuid4())
    except UnreadableFileError as error:
        return _history(request, str(error) if len(files) == 1 else f"{name}: {error}")
    for record, is_new in found:
        if not is_new:
            messages.info(request, f"{record.filename}: {_known_content(record)}")
    if added:
        sentence = _("Fields and tags of the other Homing were added: {names}.")
        messages.success(request, sentence.format(names=get_text_list(added, _("and"))))
    if len(found) == 1:
        return see_other(reverse("readers:import", args=[found[0][0].pk]))
    names = get_text_list([record.filename for record, _ in found], _("and"))
    sentence = _(
        "These lists are being checked: {names}. Open each below, and import or discard it."
    )
    messages.success(request, sentence.format(names=names))
    return see_other(reverse("readers:imports"))


@may_manage_readers
@require_safe
def show_import(request: HttpRequest, import_id: int) -> HttpResponse:
    """Show the status and the report of one import."""
    return _import_page(request, _import_or_404(import_id))


@may_manage_readers
@require_safe
def rejects_csv(request: HttpRequest, import_id: int) -> HttpResponseBase:
    """Send all rejected rows as a file: line, reason, and their cells."""
    record = _import_or_404(import_id)
    return csv_download(reject_lines(record), rejects_name("rejected", record.filename))


@may_manage_readers
@require_POST
def decide_import(request: HttpRequest, import_id: int) -> HttpResponse:
    """Start the import of a checked file with a user's statement.

    A repeated POST changes nothing.
    """
    record = _import_or_404(import_id)
    where = " ".join(request.POST.get("where", "").split())
    elsewhere = request.POST.get("consent") == "elsewhere"
    list_is_confirmed = bool(request.POST.get("list_is_confirmed"))
    tags = read_tags(request.POST.get("tags", ""))
    if record.state == State.CHECKED:
        states_it = bool(request.POST.get("states_it"))
        error = _what_is_missing(where, states_it=states_it) if elsewhere else ""
        if elsewhere and list_is_confirmed and not record.leaves_subscriptions_open:
            error = sentence_of(InputRefusal("list_not_open"))
        bad_tags = sentence_of(tags) if isinstance(tags, InputRefusal) else ""
        if error or bad_tags:
            return _import_page(request, record, error=error, bad_tags=bad_tags, typed=request.POST)
    with transaction.atomic():
        named = () if isinstance(tags, InputRefusal) else tags
        welcome = bool(request.POST.get("welcome"))
        stated = Statement(elsewhere, where, list_is_confirmed, named, welcome)
        if accept_upload.start_import(import_id, stated.columns(request.user)):
            started = _import_or_404(import_id)
            record_import_activity("import", user_id_of(request), started, added=record.added)
            for other in accept_upload.start_leavers_beside(started, request.user):
                record_import_activity("import", user_id_of(request), other, added=0)
        else:
            # The import did not start, so undo the tags that were added for it.
            transaction.set_rollback(True)
    return see_other(reverse("readers:import", args=[import_id]))


@may_manage_readers
@require_POST
def choose_columns(request: HttpRequest, import_id: int) -> HttpResponse:
    """Check a file again with other uses of its columns, if the form changed a use."""
    record = _import_or_404(import_id)
    if record.state != State.CHECKED:
        messages.warning(
            request, _("You can choose columns only while a checked file waits for your decision.")
        )
        return see_other(reverse("readers:import", args=[import_id]))
    try:
        found = check_again(record, request.POST, request.user)
    except (UnreadableFileError, ColumnError) as error:
        return _import_page(request, record, bad_columns=str(error), typed=request.POST)
    if found is None:
        messages.info(request, _("The columns are as before, so nothing has changed."))
        return see_other(reverse("readers:import", args=[import_id]))
    again, is_new = found
    if not is_new:
        messages.info(request, _known_content(again))
    return see_other(reverse("readers:import", args=[again.pk]))


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def undo_import(request: HttpRequest, import_id: int) -> HttpResponse:
    """For GET, ask for confirmation; for POST, let a worker undo the import once."""
    record = _import_or_404(import_id)
    if request.method != "POST":
        context = {"record": record, "why_not": why_not_undone(record)}
        context["most"] = count_unchanged(import_id) if record.can_be_undone else 0
        context["made"] = find_made(record) if record.can_be_undone else None
        return desk_page(request, "subscribers/undo_import.html", context)
    with transaction.atomic():
        made_too = bool(request.POST.get("made_too"))
        if starts := start_undo(import_id, made_too=made_too, by=user_id_of(request)):
            record_import_activity("undo", user_id_of(request), record)
    if not starts:
        messages.warning(request, why_not_undone(_import_or_404(import_id)))
    return see_other(reverse("readers:import", args=[import_id]))


@may_manage_readers
@require_POST
def discard_import(request: HttpRequest, import_id: int) -> HttpResponse:
    """Delete a file that was checked and not imported."""
    record = _import_or_404(import_id)
    if not accept_upload.discard(import_id, user_id_of(request)):
        messages.warning(
            request, _("The file was imported or deleted before, so there is nothing to discard.")
        )
        return see_other(reverse("readers:import", args=[import_id]))
    sentence = _("{file} was discarded. No reader was imported.")
    messages.success(request, sentence.format(file=record.filename))
    return see_other(reverse("readers:imports"))


@may_manage_readers
@require_safe
def move_page(request: HttpRequest) -> HttpResponse:
    """Show how to move from each product; `?from=` opens the part about one product."""
    context = {
        "products": [(product, _rows_of(product)) for product in PRODUCTS],
        "chosen": request.GET.get("from", ""),
        "most_mb": settings.IMPORT_MAX_MB,
    }
    return desk_page(request, "subscribers/move.html", context)


def _rows_of(product: Product) -> list[tuple[str, str]]:
    """Say how each status is imported: “email_disabled: true”, “unsubscribed”."""
    by_file = _("File name: {names}")
    return [
        (
            by_file.format(names=values) if column == FILE else f"{column}: {values}",
            str(BECOMES[status]),
        )
        for column, values, status in product.statuses
    ]


def _history(request: HttpRequest, error: str = "") -> HttpResponse:
    everything = SubscriberImport.objects.select_related("imported_by")
    everything = everything.order_by("-requested_at", "-id")
    page = Paginator(everything, PAGE).get_page(request.GET.get("page"))
    return desk_page(
        request,
        "subscribers/imports.html",
        {
            "error": error,
            "page": page,
            "rows": [
                (record, symbol_of(record), STATES[record.state], list_sentence(record))
                for record in page
            ],
            "most_mb": settings.IMPORT_MAX_MB,
        },
    )


def _import_page(
    request: HttpRequest,
    record: SubscriberImport,
    *,
    error: str = "",
    bad_tags: str = "",
    bad_columns: str = "",
    typed: Mapping[str, str] | None = None,
) -> HttpResponse:
    typed = typed or {}
    after = request.GET.get("after", "")
    first = int(after) if after.isascii() and after.isdecimal() and len(after) < 10 else 0
    is_checked = record.state == State.CHECKED
    columns = column_choices(record, typed) if is_checked else []
    rejects = list(
        RejectedRow.objects.filter(
            subscriber_import=record, result=RejectedRow.Result.REJECTED, line__gt=first
        ).order_by("line")[: REJECTS_SHOWN + 1]
    )
    return desk_page(
        request,
        "subscribers/import.html",
        {
            "record": record,
            "task": record,
            "symbol": symbol_of(record),
            "sentence": status_sentence(record),
            "lines": result_lines(record),
            "undo": [(label, "", "", *rest) for label, *rest in undo_lines(record)]
            if record.state in UNDO_STATES
            else [],
            "statuses": sentences.statuses_sentence(record.statuses),
            "gone": count_gone(record),
            "read_as": sentences.describe_file(record),
            "content": bytes(record.content_hash).hex(),
            "rejects": []
            if record.is_open
            else [(row, sentences.reason_sentence(row)) for row in rejects[:REJECTS_SHOWN]],
            "next": rejects[REJECTS_SHOWN - 1].line if len(rejects) > REJECTS_SHOWN else None,
            "is_paged": first > 0,
            "deleted": sentences.deleted_rows_sentence(record)
            if are_rejects_deleted(record)
            else "",
            "error": error or bad_tags or bad_columns,
            "error_at": "do" if error or bad_tags else "columns",
            "where_error": error,
            "tags_error": bad_tags,
            "columns_error": bad_columns,
            "columns": [one for one in columns if one.is_open],
            "other_columns": [one for one in columns if not one.is_open],
            "answers": sentences.chosen_answers(record),
            "tags_for_all": Tag.objects.filter(id__in=record.tags).order_by("name"),
            "file_tags": sentences.tags_sentence(record.tags_in_file),
            "has_welcome": is_checked and Newsletter.objects.get_current().welcome_issue,
            "longest": LONGEST_STATEMENT,
            "beside": _beside(record),
            "where": typed.get("where", ""),
            "list_is_confirmed": bool(typed.get("list_is_confirmed")),
            "tags": typed.get("tags", ""),
        },
    )


def _beside(record: SubscriberImport) -> list[tuple[SubscriberImport, tuple[str, str], str]]:
    """Return the other imports of the same upload, each with a sentence on its result."""
    if record.upload is None:
        return []
    others = SubscriberImport.objects.filter(upload=record.upload).exclude(pk=record.pk)
    return [(one, symbol_of(one), list_sentence(one)) for one in others.order_by("id")]


def _import_or_404(import_id: int) -> SubscriberImport:
    found = SubscriberImport.objects.select_related("imported_by").filter(pk=import_id).first()
    if found is None:
        raise Http404(_("There is no import with this number. It may have been discarded."))
    return found


def _what_is_missing(where: str, *, states_it: bool) -> str:
    if not states_it:
        return _(
            "Tick the box if these readers consented elsewhere. Otherwise ask them to confirm."
        )
    if not where:
        return _("Enter how they consented. Homing records your answer.")
    if len(where) > LONGEST_STATEMENT:
        return _("The text has {length} characters. At most {longest} are allowed.").format(
            length=digits(len(where)), longest=digits(LONGEST_STATEMENT)
        )
    return ""


def _known_content(record: SubscriberImport) -> str:
    if record.state in (State.FINISHED, State.WAITING, State.RUNNING):
        return _(
            "A file with the same content is already imported or being imported. Nothing has "
            "changed."
        )
    if record.state == State.UNDOING:
        return _("The import of this file is being undone. Upload the file again afterwards.")
    return _("A file with the same content was uploaded before. It is not imported yet.")
