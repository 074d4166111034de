"""Problems: the shape of all error responses (RFC 9457).

An error response does not repeat what the caller sent.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpResponse
from pydantic import BaseModel, ConfigDict, Field
from pydantic.dataclasses import dataclass

MEDIA_TYPE = "application/problem+json"
URN = "urn:homing:problem:"
Row = TypeVar("Row", bound=Model)


class ProblemType(Enum):
    """The types of problems, each with its status and title."""

    NOT_READABLE = 400, "The request cannot be read"
    UNKNOWN_HOST = 400, "Unknown host name"
    NOT_VALID = 400, "Invalid value"
    BAD_KEY = 400, "Missing or invalid idempotency key"
    NOT_SIGNED_IN = 401, "A token is required"
    NOT_ALLOWED = 403, "This token does not allow that"
    USE_HTTPS = 403, "The API requires https"
    NOT_FOUND = 404, "Not found"
    NOT_A_METHOD = 405, "Method not allowed"
    NOT_NOW = 409, "Not possible in the current state"
    STILL_WORKING = 409, "The same call is still running"
    TAKES_TWO = 409, "A second person's approval is required"
    TOO_SLOW = 408, "The request arrived too slowly"
    GONE = 410, "No longer stored"
    TOO_LARGE = 413, "The request is too large"
    ADDRESS_TOO_LONG = 414, "The address is too long"
    NOT_A_MEDIA_TYPE = 415, "Unsupported content type"
    OTHER_CONTENT = 422, "The key was used for other content"
    HEADERS_TOO_LARGE = 431, "The headers are too large"
    FAILED = 500, "Internal error"
    NOT_AVAILABLE = 503, "Temporarily unavailable"

    def __init__(self, status: int, title: str) -> None:
        self.status = status
        self.title = title

    @property
    def urn(self) -> str:
        return f"{URN}{self.name.lower().replace('_', '-')}"


@dataclass(frozen=True)
class FieldError:
    """One field, and its error."""

    field: str = Field(examples=["title"])
    detail: str = Field(examples=["The title is empty. It becomes the subject of the mail."])


class ProblemBody(BaseModel):
    """The reason why a call failed (RFC 9457). The call changed nothing."""

    model_config = ConfigDict(json_schema_extra={"required": ["type", "title", "status", "detail"]})

    type: str = Field(examples=[f"{URN}not-valid"], description="The type, for programs.")
    title: str = Field(examples=["Invalid value"])
    status: int = Field(examples=[400], ge=400, le=599)
    detail: str = Field(description="The reason, and what to do.")
    errors: list[FieldError] = Field(default_factory=list, description="The errors by field.")
    made: str = Field(default="", description="The address of the earlier result of this key.")


def problem_responses(*statuses: int) -> dict[int, type[ProblemBody]]:
    """Return problem responses for these statuses and those that all operations have."""
    return dict.fromkeys(sorted({400, 401, 403, 503, *statuses}), ProblemBody)


def answers(found: Any, *problems: int) -> dict[int, Any]:
    """Return the answers of a read-only operation in a dict with statuses as keys."""
    return {200: found, **problem_responses(*problems)}


def problem_response(
    kind: ProblemType,
    detail: str,
    *,
    errors: Sequence[FieldError] = (),
    earlier_url: str = "",
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Build the response for a problem, with the errors of its fields."""
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
    """End a call with a problem, and roll back its work.

    The arguments are the same as those of `problem_response`.
    """

    def __init__(self, kind: ProblemType, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.response = problem_response(kind, detail, **more)


def first_of(rows: QuerySet[Row], sentence: str) -> Row:
    """Return the first row; without a row, raise `ProblemError` (404) with `sentence`."""
    row = rows.first()
    if row is None:
        raise ProblemError(ProblemType.NOT_FOUND, sentence)
    return row


def field_problem(field: str, sentence: str) -> ProblemError:
    """Return the problem that one field causes."""
    return ProblemError(ProblemType.NOT_VALID, sentence, errors=[FieldError(field, sentence)])
