"""API calls that upload, check, show, start, undo and discard imports."""

import hashlib
import json
from typing import Any, cast

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from ninja import Body, Router
from ninja.params.functions import Body as BodyParameter
from ninja.params.functions import Query

from api.bearer import Bearer, get_caller
from api.idempotent_call import changing, once, require_key, run_call
from api.problem import ProblemError, ProblemType, answers, field_problem, first_of
from api.schema import BEFORE, LIMIT, DecimalInt, json_response
from delivery.models import Newsletter
from idempotency.claim import allow_silence
from idempotency.fingerprint import FileDigest
from subscribers.api import reader_scopes
from subscribers.api.reader_calls import refuse_half_a_statement
from subscribers.api.reader_shapes import (
    Decision,
    Import,
    ImportDropped,
    ImportPage,
    ImportReceived,
    MadeByImport,
    OfferedTag,
    UndoChoice,
)
from subscribers.api.uploaded_file import FILENAME, upload_parameters, uploaded_file
from subscribers.importing import accept_upload
from subscribers.importing import import_sentences as sentences
from subscribers.importing.accept_upload import Statement
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.tag_cell import read_tags
from subscribers.importing.import_page import status_sentence, why_not_undone
from subscribers.importing.rejects_file import reject_lines
from subscribers.importing.undo_import import start_undo
from subscribers.models import SubscriberImport
from subscribers.record_activity import record_import_activity
from subscribers.refusal_sentences import InputRefusal, sentence_of

router = Router(tags=["Imports"], auth=Bearer(reader_scopes.IMPORTS), by_alias=True)

State = SubscriberImport.State
COLUMNS = Query(
    [],
    alias="map",
    max_length=100,
    description="COLUMN=FIELD, such as `Town=city`, as in the command. It can be repeated.",
)
NO_BODY = BodyParameter(UndoChoice())
CSV = "text/csv"
LONGEST_READING = "120s"  # the time limit for reading the files in one upload

_UPLOAD = upload_parameters(CSV, example="email,name\nada@posthouse.example.org,Ada\n")


@router.get("/", response=answers(ImportPage), summary="List imports")
def list_imports(
    request: HttpRequest, limit: DecimalInt = LIMIT, before: DecimalInt = BEFORE
) -> ImportPage:
    """List every uploaded file, newest first."""
    imports = SubscriberImport.objects.select_related("imported_by").order_by("-id")
    if before is not None:
        imports = imports.filter(id__lt=before)
    found = list(imports[: limit + 1])
    return ImportPage(
        imports=[Import(**_import_fields(record)) for record in found[:limit]],
        next=found[limit - 1].pk if len(found) > limit else None,
    )


@router.post(
    "/",
    summary="Upload a file for a check",
    **changing({201: ImportReceived, 200: ImportReceived}, described=_UPLOAD),
)
def upload_import(
    request: HttpRequest, filename: str = FILENAME, columns: list[str] = COLUMNS
) -> HttpResponse:
    """Upload a file, as the body or as `file` of a form.

    The file is a CSV file or, in a form, the ZIP file of another service. A worker checks the file
    in the background, in a dry run that changes nothing. If the same content was uploaded before,
    the call returns the earlier import, unless `map` reads the columns in another way.
    """
    require_key(request)  # refuse a call without a key before reading a large file
    with uploaded_file(request, filename, CSV) as (file, name):

        def work() -> HttpResponse:
            allow_silence(LONGEST_READING)
            found, _ = accept_upload.accept_lists(file, name, get_caller(request).user, columns)
            (record, created), *others = found
            more = [each.pk for each, _ in others]
            return json_response(
                ImportReceived(**_import_fields(record), created=created, more=more),
                url=reverse("api:import", args=[record.pk]),
                created=created,
            )

        digest = hashlib.file_digest(cast("Any", file), "sha256").hexdigest()
        try:
            uploaded = FileDigest("\n".join((name, *columns)), digest)
            return run_call(request, None, work, files=[uploaded])
        except UnreadableFileError as error:
            raise field_problem("file", str(error)) from None


@router.get(
    "/{int:import_id}/",
    response=answers(Import, 404),
    summary="Status of an import",
    url_name="import",
)
def get_import(request: HttpRequest, import_id: int) -> Import:
    """Return the status: the expected result during the check, then the result."""
    return Import(**_import_fields(_named(import_id)))


@router.get(
    "/{int:import_id}/rejects.csv",
    response=answers(str, 404),
    summary="The rejected rows",
    openapi_extra={"x-answers": CSV},
)
def import_rejects(request: HttpRequest, import_id: int) -> HttpResponseBase:
    """Send the rejected rows as CSV: line, reason, and their cells."""
    lines = reject_lines(_named(import_id))
    return StreamingHttpResponse(lines, content_type=f"{CSV}; charset=utf-8")


@router.post(
    "/{int:import_id}/import/", summary="Import a checked file", **changing({200: Import}, 404)
)
@once
def decide_import(request: HttpRequest, import_id: int, decision: Body[Decision]) -> HttpResponse:
    """Start the import. It adds readers and resubscribes nobody."""
    where = " ".join(decision.where.split())
    tags = read_tags(json.dumps(decision.tags))
    refuse_half_a_statement(confirmed=decision.confirmed, where=where)
    if decision.list_is_confirmed and not decision.confirmed:
        sentence = "The call states that the list is confirmed, but “confirmed” is not true."
        raise field_problem("list_is_confirmed", sentence)
    if isinstance(tags, InputRefusal):
        raise field_problem("tags", sentence_of(tags))
    if decision.welcome and not decision.confirmed:
        sentence = "The letter goes to confirmed readers only. Others get it when they confirm."
        raise field_problem("welcome", sentence)
    if decision.welcome and Newsletter.objects.get_current().welcome_issue is None:
        raise field_problem("welcome", "No welcome letter is on, so none can be sent.")
    caller, record = get_caller(request), _named(import_id)
    is_checked = record.state == State.CHECKED
    if is_checked and decision.list_is_confirmed and not record.leaves_subscriptions_open:
        raise field_problem("list_is_confirmed", sentence_of(InputRefusal("list_not_open")))
    is_confirmed, list_is_confirmed = decision.confirmed, decision.list_is_confirmed
    stated = Statement(is_confirmed, where, list_is_confirmed, tags, decision.welcome)
    if not accept_upload.start_import(import_id, stated.columns(caller.user)):
        sentence = f"Only a checked file can be imported. {status_sentence(record)}"
        raise ProblemError(ProblemType.NOT_NOW, sentence)
    record_import_activity("import", caller.user.pk, _named(import_id), added=record.added)
    return _answer(import_id)


@router.post("/{int:import_id}/undo/", summary="Undo an import", **changing({200: Import}, 404))
@once
def undo_import(request: HttpRequest, import_id: int, choice: UndoChoice = NO_BODY) -> HttpResponse:
    """Remove added readers who were neither mailed nor changed and did not opt in.

    A worker removes them in the background. Afterwards the same file can be imported again. The
    body of the request is optional.
    """
    caller, record = get_caller(request).user.pk, _named(import_id)
    if not start_undo(import_id, made_too=choice.tags_and_fields, by=caller):
        raise ProblemError(ProblemType.NOT_NOW, why_not_undone(record))
    record_import_activity("undo", caller, record)
    return _answer(import_id)


@router.post(
    "/{int:import_id}/drop/",
    summary="Discard a checked file",
    **changing({200: ImportDropped}, 404),
)
@once
def drop_import(request: HttpRequest, import_id: int) -> HttpResponse:
    """Delete a file that was checked and not imported."""
    _named(import_id)
    if not accept_upload.discard(import_id, get_caller(request).user.pk):
        sentence = "The file was imported or deleted before, so there is nothing to discard."
        raise ProblemError(ProblemType.NOT_NOW, sentence)
    return json_response(ImportDropped(id=import_id, dropped=True))


def _named(import_id: int) -> SubscriberImport:
    return first_of(
        SubscriberImport.objects.select_related("imported_by").filter(pk=import_id),
        "There is no import with this number. It may have been discarded.",
    )


def _answer(import_id: int) -> HttpResponse:
    body = Import(**_import_fields(_named(import_id)))
    return json_response(body, url=reverse("api:import", args=[import_id]))


def _import_fields(record: SubscriberImport) -> dict[str, Any]:
    read_as = sentences.describe_file(record) or {}
    read_in = filter(None, map(read_as.get, ("format", "columns", "unused")))
    unmade = record.unmade if record.state == State.UNDONE else None
    return {
        "id": record.pk,
        "state": record.state,
        "filename": record.filename,
        "confirmed": record.confirmed,
        "list_is_confirmed": record.list_is_confirmed,
        **record.counts,
        "lost_values": sentences.count_lost(record),
        "statuses": {one: n for one, n in record.statuses.items() if one in sentences.STATUSES},
        "unstated": record.unstated,
        "skipped_because": sentences.skipped_sentences(record.skipped_because),
        "undo": record.undo_counts if record.state in (State.UNDOING, State.UNDONE) else None,
        "tags_and_fields": unmade and MadeByImport(deleted=unmade["deleted"], kept=unmade["kept"]),
        "tags": record.tags_in_file,
        "offered": [
            OfferedTag(map=f"{number}=tag:{tag}", tag=tag, rows=rows)
            for number, tag, rows in sentences.tags_offered(record)
        ],
        "posts": (record.read_as or {}).get("posts", 0),
        "percent": record.percent,
        "read_as": "; ".join(read_in),
        "notes": [
            *read_as.get("notes", ()),
            *filter(None, map(read_as.get, ("hidden", "encoding_warning"))),
        ],
        "said": status_sentence(record),
    }
