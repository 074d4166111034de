"""
The API below /api/v1/: the routers of the apps joined, and one answer for every way of failing.

Nothing is done here. The pages with which ninja shows an API load things from other sites, and are
not served; `openapi.json` is, to anybody: it says what stands in docs/api.md.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

# In this order: what is named by a word comes before what stands for any word.
from publishing.api import publishing_calls, issue_calls  # noqa: F401  isort: skip
from api.json_body import StrictParser, shorten_name
from api.problem import FieldError, Problem, ProblemError, ProblemType, problem_response
from api.queries import refuse_unknown_queries
from publishing.api.router import router as issues
from subscribers.api import import_calls, reader_calls

VERSION = "1"

api = NinjaAPI(
    title="Homing",
    version=VERSION,
    description=(
        "Publish a newsletter and see that everyone got it, from a program. Every call that "
        "changes something takes an `Idempotency-Key`: asked again with the same key it is "
        "answered the same and does nothing. Errors are problems (RFC 9457)."
    ),
    urls_namespace="api",
    docs_url=None,
    openapi_url=None,
    parser=StrictParser(),
)
api.add_decorator(refuse_unknown_queries, mode="view")
api.add_router("/issues", issues)
api.add_router("/readers", reader_calls.router)
api.add_router("/imports", import_calls.router)


def addresses() -> tuple[list[Any], str, str]:
    """
    Where each call is. One without its last slash is not there: Django would redirect it, which
    loses what was posted, and in debug fails instead.
    """
    found: tuple[list[Any], str, str] = api.urls
    for address in found[0]:
        address.callback.should_append_slash = False
    return found


def _problem(error: ProblemError) -> HttpResponse:
    return problem_response(error.problem)


@api.exception_handler(ProblemError)
def _told(request: HttpRequest, error: ProblemError) -> HttpResponse:
    return _problem(error)


@api.exception_handler(ValidationError)
def _not_valid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """What does not have the shape that is asked for, field by field."""
    in_the_address = [one for one in error.errors if one["loc"][0] == "path"]
    if in_the_address:
        return problem_response(Problem(ProblemType.NOT_FOUND, _not_an_address(in_the_address[0])))
    errors = [FieldError(_name_of(one["loc"]), _sentence(one)) for one in error.errors[:50]]
    return problem_response(
        Problem(ProblemType.NOT_VALID, f"“{errors[0].field}”: {errors[0].sentence}", errors)
    )


@api.exception_handler(HttpError)
def _refused(request: HttpRequest, error: HttpError) -> HttpResponse:
    """What ninja refuses itself; a body that could not be read says why."""
    if isinstance(error.__cause__, ProblemError):
        return _problem(error.__cause__)
    if isinstance(error.__cause__, UnreadablePostError):
        return _broke_off(request, error.__cause__)
    return problem_response(Problem(ProblemType.NOT_READABLE, "The call cannot be read."))


@api.exception_handler(Http404)
def _not_there(request: HttpRequest, error: Http404) -> HttpResponse:
    return problem_response(Problem(ProblemType.NOT_FOUND, "There is nothing at this address."))


@api.exception_handler(RequestDataTooBig)
def _too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return problem_response(
        Problem(ProblemType.TOO_LARGE, "The body is larger than any call may be.")
    )


@api.exception_handler(UnreadablePostError)
def _broke_off(request: HttpRequest, error: UnreadablePostError) -> HttpResponse:
    sentence = "The body broke off on its way; nothing was kept. Send it again, with the same key."
    return problem_response(Problem(ProblemType.NOT_READABLE, sentence))


def _unreadable(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    return problem_response(
        Problem(ProblemType.NOT_READABLE, "The body could not be read to its end.")
    )


for _kind in (MultiPartParserError, TooManyFieldsSent):
    api.add_exception_handler(_kind, _unreadable)


def _to_the_site(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """Unexpected errors are logged and answered by newsletter_site/api/api_middleware.py."""
    raise error


api.add_exception_handler(Exception, _to_the_site)


def _name_of(loc: tuple[Any, ...]) -> str:
    """The field as it was posted: `title`, or `html.0`; the whole body where it is that."""
    place = [str(part) for part in loc[1:]]
    if loc[0] == "body":
        place = place[1:]
    return shorten_name(".".join(place)) or "body"


def _not_an_address(error: dict[str, Any]) -> str:
    """Of a word that is one of a few it says which; of anything else that there is nothing."""
    if error["type"] != "literal_error":
        return "There is nothing at this address."
    return f"There is no such {_name_of(error['loc'])}; expected {error['ctx']['expected']}."


def _sentence(error: dict[str, Any]) -> str:
    match error["type"]:
        case "extra_forbidden":
            return "It is not known here; take it out."
        case "missing":
            return "It is missing."
    said = str(error["msg"]).removeprefix("Value error, ")
    return said if said.endswith(".") else f"{said}."
