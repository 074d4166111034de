"""The API below /api/v1/, without ninja's own pages, which load external scripts."""

from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.operation import Operation

from api.problem import FieldError, ProblemError, ProblemType, problem_response
from api.strict_parser import StrictParser, refuse_unknown_queries, shorten_name
from publishing.actions.edition_actions import CannotDoThatError
from publishing.api import export_calls, issue_calls, past_issue_calls, welcome_calls
from publishing.approval.record_approval import NeedsApprovalError
from publishing.editions.edition_status import NoSuchEditionError
from publishing.editions.versions import VersionRefusedError
from publishing.progress.reader_outcomes import DeliveriesDroppedError
from publishing.receipts.make_receipt import NoReceiptError
from subscribers.api import field_and_tag_calls, import_calls, reader_calls


class HomingAPI(NinjaAPI):
    """Name each operation after its function: `list_issues` becomes `listIssues`."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        first, *others = operation.view_func.__name__.split("_")
        return first + "".join(map(str.capitalize, others))


api = HomingAPI(
    title="Homing",
    version="1",
    description=(
        "Publish a newsletter from a program, and verify its delivery. Every call that changes "
        "something takes an `Idempotency-Key`. If you repeat a call with the same key, nothing "
        "happens again and you get the same response. Errors are problems (RFC 9457)."
    ),
    urls_namespace="api",
    docs_url=None,
    openapi_url=None,
    parser=StrictParser(),
)
api.add_decorator(refuse_unknown_queries, mode="view")
api.add_router("/issues", issue_calls.router)
api.add_router("/readers", reader_calls.router)
api.add_router("/fields", field_and_tag_calls.fields)
api.add_router("/tags", field_and_tag_calls.tags)
api.add_router("/imports", import_calls.router)
api.add_router("/exports", export_calls.router)
api.add_router("/past-issues", past_issue_calls.router)
api.add_router("/welcome", welcome_calls.router)

_UNREADABLE = ProblemType.NOT_READABLE, "The body could not be read completely."
_PROBLEMS: dict[type[Exception], tuple[ProblemType, str]] = {
    Http404: (ProblemType.NOT_FOUND, "Nothing exists at this address."),
    RequestDataTooBig: (ProblemType.TOO_LARGE, "The body is larger than the limit."),
    MultiPartParserError: _UNREADABLE,
    TooManyFieldsSent: _UNREADABLE,
}
# Functions of the API do not catch these errors. The handlers below show the message of the error
# to the caller.
_REFUSALS = {
    NoSuchEditionError: ProblemType.NOT_FOUND,
    DeliveriesDroppedError: ProblemType.GONE,
    NeedsApprovalError: ProblemType.TAKES_TWO,
    **dict.fromkeys((CannotDoThatError, NoReceiptError, VersionRefusedError), ProblemType.NOT_NOW),
}


def url_patterns() -> tuple[list[Any], str, str]:
    """Return the API's URL patterns.

    A URL without its last slash gets 404, because a redirect would lose the request's body.
    """
    patterns: tuple[list[Any], str, str] = api.urls
    for pattern in patterns[0]:
        pattern.callback.should_append_slash = False
    return patterns


@api.exception_handler(ProblemError)
def _problem_error(request: HttpRequest, error: ProblemError) -> HttpResponse:
    return error.response


@api.exception_handler(ValidationError)
def _validation_error(request: HttpRequest, error: ValidationError) -> HttpResponse:
    in_path = [each for each in error.errors if each["loc"][0] == "path"]
    if in_path:
        return problem_response(ProblemType.NOT_FOUND, _path_sentence(in_path[0]))
    errors = [FieldError(_field_name(each["loc"]), _sentence(each)) for each in error.errors[:50]]
    detail = f"“{errors[0].field}”: {errors[0].detail}"
    return problem_response(ProblemType.NOT_VALID, detail, errors=errors)


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    """Answer calls that ninja refuses.

    If a body could not be read, the cause of `error` contains the answer.
    """
    if isinstance(error.__cause__, ProblemError):
        return error.__cause__.response
    return problem_response(ProblemType.NOT_READABLE, "The request cannot be read.")


for _kind, _problem in _PROBLEMS.items():
    api.add_exception_handler(_kind, lambda *_, problem=_problem: problem_response(*problem))


def _refusal(request: HttpRequest, error: Any) -> HttpResponse:
    kinds = (kind for known, kind in _REFUSALS.items() if isinstance(error, known))
    return problem_response(next(kinds), str(error))


for _known in _REFUSALS:
    api.add_exception_handler(_known, _refusal)


@api.exception_handler(Exception)
def _unexpected_error(request: HttpRequest, error: Exception) -> HttpResponse:
    raise error  # the site logs the error, and ApiBoundary answers the call


def _field_name(loc: tuple[Any, ...]) -> str:
    """Return a field's name as posted, such as `html.0`, or `body` for the whole body."""
    path = [str(part) for part in loc[1:]]
    if loc[0] == "body":
        path = path[1:]
    return shorten_name(".".join(path)) or "body"


def _path_sentence(error: dict[str, Any]) -> str:
    if error["type"] != "literal_error":
        return "Nothing exists at this address."
    return f"Unknown {_field_name(error['loc'])} in the address. Use {error['ctx']['expected']}."


def _sentence(error: dict[str, Any]) -> str:
    match error["type"]:
        case "extra_forbidden":
            return "This field is unknown. Remove it."
        case "missing":
            return "This field is missing."
    message = str(error["msg"]).removeprefix("Value error, ")
    return message if message.endswith(".") else f"{message}."
