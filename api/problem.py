"""Problems: the one shape of every response to a call that failed (RFC 9457), without its input."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from django.http import HttpResponse
from pydantic import BaseModel, ConfigDict, Field
from pydantic.dataclasses import dataclass

MEDIA_TYPE = "application/problem+json"
URN = "urn:homing:problem:"


class ProblemType(Enum):
    """Each type of problem: its status and its title."""

    NOT_READABLE = 400, "The call cannot be read"
    UNKNOWN_HOST = 400, "This site does not answer to that name"
    NOT_VALID = 400, "Something has to be put right"
    BAD_KEY = 400, "There is no usable idempotency key"
    NOT_SIGNED_IN = 401, "A token is needed"
    NOT_ALLOWED = 403, "This token may not do that"
    USE_HTTPS = 403, "The API is spoken to over https alone"
    NOT_FOUND = 404, "There is nothing at this address"
    NOT_A_METHOD = 405, "This address knows no such method"
    NOT_NOW = 409, "It is not in a state for that"
    STILL_WORKING = 409, "The same call is still at work"
    TAKES_TWO = 409, "Publishing takes two"
    GONE = 410, "It is not kept any more"
    TOO_LARGE = 413, "The call is too large"
    NOT_A_MEDIA_TYPE = 415, "The body is of a kind that is not taken here"
    OTHER_CONTENT = 422, "The key was used for something else"
    FAILED = 500, "Something broke"
    NOT_AVAILABLE = 503, "It cannot be done at this moment"

    def __init__(self, status: int, title: str) -> None:
        self.status = status
        self.title = title

    @property
    def urn(self) -> str:
        return f"{URN}{self.name.lower().replace('_', '-')}"


@dataclass(frozen=True)
class FieldError:
    """One posted field, and what is wrong with it."""

    field: str = Field(examples=["title"])
    detail: str = Field(examples=["The title is empty; it becomes the subject of the mail."])


class ProblemBody(BaseModel):
    """Why the call was not done (RFC 9457). Nothing was changed by it."""

    model_config = ConfigDict(json_schema_extra={"required": ["type", "title", "status", "detail"]})

    type: str = Field(examples=[f"{URN}not-valid"], description="The kind, for programs.")
    title: str = Field(examples=["Something has to be put right"])
    status: int = Field(examples=[400], ge=400, le=599)
    detail: str = Field(description="One sentence: what was found, and what to do.")
    errors: list[FieldError] = Field(default_factory=list, description="Field by field.")
    made: str = Field(default="", description="Where the earlier work under this key is.")


def problem_responses(*statuses: int) -> dict[int, type[ProblemBody]]:
    """Return the problem statuses of an operation, with those that all operations have."""
    return dict.fromkeys(sorted({400, 401, 403, 503, *statuses}), ProblemBody)


# The statuses of an operation that changes something.
CHANGE_STATUSES = (409, 413, 415, 422)


def problem_response(
    kind: ProblemType,
    detail: str,
    *,
    errors: Sequence[FieldError] = (),
    earlier_url: str = "",
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Build the response that states a problem in one sentence, with the errors of its fields."""
    body = ProblemBody(
        type=kind.urn,
        title=kind.title,
        status=kind.status,
        detail=detail,
        errors=list(errors),
        made=earlier_url,
    )
    content = body.model_dump_json(exclude_defaults=True)
    return HttpResponse(content, MEDIA_TYPE, kind.status, headers=headers)


class ProblemError(Exception):
    """Ends a call with a problem, and undoes its work. Takes what `problem_response` takes."""

    def __init__(self, kind: ProblemType, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.response = problem_response(kind, detail, **more)


def field_problem(field: str, sentence: str) -> ProblemError:
    """The problem of one field."""
    return ProblemError(ProblemType.NOT_VALID, sentence, errors=[FieldError(field, sentence)])
