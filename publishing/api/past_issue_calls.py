"""API calls that move in the past issues from an export, and show the result."""

import hashlib
from typing import TYPE_CHECKING, Any, Literal, cast

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Field, Router
from ninja.params.functions import Query

from api.bearer import Bearer, get_caller
from api.idempotent_call import changing, require_key, run_call
from api.problem import ProblemError, ProblemType, answers, field_problem, first_of
from api.schema import ResponseBody, json_response
from idempotency.fingerprint import FileDigest
from publishing.api import issue_scopes
from publishing.models import IssueMove
from publishing.past_issues import move_task
from publishing.past_issues.report_sentences import error_sentence, refusal_sentence, report_lines
from subscribers.api.uploaded_file import FILENAME, upload_parameters, uploaded_file
from subscribers.importing.file_format.files_in_zip import lists_in

if TYPE_CHECKING:
    from io import BufferedRandom

router = Router(tags=["Past issues"], auth=Bearer(issue_scopes.PUBLISH), by_alias=True)

FILE = "application/octet-stream"
SITE = Query("", max_length=move_task.LONGEST_SITE, description="The address of your Ghost site.")
MoveState = Literal["waiting", "running", "finished", "refused", "failed"]


class MoveResult(ResponseBody):
    """One kind of result, and the number of issues or images with this result."""

    result: str = Field(examples=["moved"])
    count: int = Field(examples=[212])
    said: str = Field(examples=["212 issues were moved in."])
    titles: list[str] = Field(description="The first of them, except those that were moved in.")


class Move(ResponseBody):
    """The state of a move: an uploaded export whose issues are moved in."""

    id: int = Field(serialization_alias="move", examples=[2])
    state: MoveState
    filename: str = Field(examples=["substack.zip"])
    product: str = Field(examples=["substack"], description="Empty until the file was read.")
    issues: int = Field(examples=[230], description="The issues of the export.")
    done: int = Field(examples=[117], description="How many of them are settled.")
    results: list[MoveResult]
    refusal: str = Field(description="Why nothing was moved in; empty for others.")


class MoveReceived(Move):
    """The answer to an upload: the move of the uploaded export."""

    readers: list[str] = Field(
        examples=[["email_list.swifts.csv"]],
        description="The lists of readers in the same ZIP file. `imports/` takes them.",
    )


@router.post(
    "/",
    summary="Move in past issues",
    **changing({201: MoveReceived}, described=upload_parameters(FILE)),
)
def upload_past_issues(
    request: HttpRequest, filename: str = FILENAME, site: str = SITE
) -> HttpResponse:
    """Upload an export as the body, or as `file` of a form.

    The export can be from Substack, Ghost, Buttondown or another Homing. A worker puts the export's
    public issues into the archive, each once. No issue is mailed.
    """
    require_key(request)  # check this before reading a large file
    with uploaded_file(request, filename, FILE) as (file, name):
        digest = hashlib.file_digest(cast("BufferedRandom", file), "sha256").hexdigest()
        if not file.tell():
            raise field_problem("file", "The file is empty.")

        def work() -> HttpResponse:
            try:
                move = move_task.request_move(file, name, site, get_caller(request).user.pk)
            except move_task.MoveRefusedError as error:
                sentence = refusal_sentence(error.code)
                if error.code == "site_invalid":
                    raise field_problem("site", sentence) from None
                raise ProblemError(_REFUSALS[error.code], sentence) from None
            move.refresh_from_db()
            url = reverse("api:past_issues", args=[move.pk])
            received = MoveReceived(**_fields(move), readers=lists_in(file))
            return json_response(received, url=url, created=True)

        return run_call(request, None, work, files=[FileDigest(name, digest)])


@router.get(
    "/{int:move_id}/",
    response=answers(Move, 404),
    summary="State of a move",
    url_name="past_issues",
)
def get_past_issues(request: HttpRequest, move_id: int) -> Move:
    """Return the state of the move, and the results of its issues so far."""
    move = first_of(IssueMove.objects.filter(pk=move_id), f"There is no move {move_id}.")
    return Move(**_fields(move))


_REFUSALS = {
    "needs_approval": ProblemType.TAKES_TWO,
    "already_running": ProblemType.NOT_NOW,
    "too_large": ProblemType.TOO_LARGE,
}


def _fields(move: IssueMove) -> dict[str, Any]:
    return {
        "id": move.pk,
        "state": move.state,
        "filename": move.filename,
        "product": move.product,
        "issues": move.total,
        "done": move.done,
        "results": [
            MoveResult(result=code, count=move.counts[code], said=sentence, titles=titles)
            for code, sentence, titles in report_lines(move)
        ],
        "refusal": error_sentence(move),
    }
