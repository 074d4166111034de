"""API calls that request, show and download a complete export."""

from typing import Literal, cast

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from ninja import Field, Router

from api.bearer import Bearer, get_caller
from api.idempotent_call import changing, once
from api.problem import ProblemError, ProblemType, answers, first_of
from api.schema import ResponseBody, json_response
from delivery.tasks.leased_task_columns import TaskState
from publishing.exporting import export_task
from publishing.exporting.export_view import export_response
from publishing.models import Export
from subscribers.api import reader_scopes

router = Router(tags=["Exports"], auth=Bearer(reader_scopes.READERS), by_alias=True)

ExportState = Literal["waiting", "running", "finished", "failed", "expired"]


class ExportStatus(ResponseBody):
    """The state of a complete export."""

    id: int = Field(serialization_alias="export", examples=[2])
    state: ExportState
    bytes: int = Field(examples=[48_213_004], description="How much is written so far.")


@router.post(
    "/", summary="Request a complete export", **changing({201: ExportStatus, 200: ExportStatus})
)
@once
def request_export(request: HttpRequest) -> HttpResponse:
    """Have a worker write everything about the newsletter into one ZIP file.

    If an export is already being written, the call returns that export and starts no other.
    """
    export, is_new = export_task.request_export(get_caller(request).user.pk)
    url = reverse("api:export", args=[export.pk])
    return json_response(_status(export), url=url, created=is_new)


@router.get(
    "/{int:export_id}/",
    response=answers(ExportStatus, 404),
    summary="State of an export",
    url_name="export",
)
def get_export(request: HttpRequest, export_id: int) -> ExportStatus:
    """Return the state of the export, and how many bytes are written so far."""
    return _status(_find(export_id))


@router.get(
    "/{int:export_id}/homing.zip",
    response=answers(str, 404),
    summary="Download an export",
    openapi_extra={"x-answers": "application/zip"},
)
def download_export(request: HttpRequest, export_id: int) -> HttpResponseBase:
    """Send the ZIP file of a finished export. The file is kept for seven days."""
    export = _find(export_id)
    if export.state != TaskState.FINISHED:
        raise ProblemError(
            ProblemType.NOT_FOUND,
            f"The export has no file, because its state is “{export.state}”.",
        )
    return export_response(export, f"homing-{export.pk}.zip", get_caller(request).user.pk)


def _find(export_id: int) -> Export:
    return first_of(Export.objects.filter(pk=export_id), f"There is no export {export_id}.")


def _status(export: Export) -> ExportStatus:
    return ExportStatus(id=export.pk, state=cast("ExportState", export.state), bytes=export.done)
