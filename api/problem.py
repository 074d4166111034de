"""
What a call is answered that is not done: one shape for everything (RFC 9457), and the only place
that makes it. Never repeats a token, nor more than a field's name of what was posted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import orjson
from django.http import HttpResponse
from pydantic import BaseModel, ConfigDict, Field

MEDIA_TYPE = "application/problem+json"
URN = "urn:homing:problem:"


class Kind(Enum):
    """Each kind of problem: the status it is answered with, and its title."""

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

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self.value[0]

    @property
    def title(self) -> str:
        """The same for every problem of this kind."""
        return self.value[1]

    @property
    def urn(self) -> str:
        """What programs tell kinds apart by."""
        return f"{URN}{self.name.lower().replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one field of what was posted: its name, and one sentence."""

    field: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a call was not done: its kind, one sentence, and the fields that it is about."""

    kind: Kind
    detail: str
    faults: Sequence[Fault] = ()
    made: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class ProblemError(Exception):
    """Raised wherever a call ends with a problem. In the midst of work that undoes it all."""

    def __init__(
        self,
        kind: Kind,
        detail: str,
        *,
        faults: Sequence[Fault] = (),
        made: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.problem = Problem(kind, detail, tuple(faults), made, headers or {})


class FaultTold(BaseModel):
    """One field of what was posted, and what is wrong with it."""

    field: str = Field(examples=["title"])
    detail: str = Field(examples=["The title is empty; it becomes the subject of the mail."])


class ProblemTold(BaseModel):
    """Why the call was not done (RFC 9457). Nothing was changed by it."""

    model_config = ConfigDict(
        json_schema_extra={"required": ["type", "title", "status", "detail"]},
    )

    type: str = Field(examples=[f"{URN}not-valid"], description="The kind, for programs.")
    title: str = Field(examples=["Something has to be put right"])
    status: int = Field(examples=[400], ge=400, le=599)
    detail: str = Field(description="One sentence: what was found, and what to do.")
    errors: list[FaultTold] = Field(default_factory=list, description="Field by field.")
    made: str = Field(default="", description="Where the earlier work under this key is.")


def refusals(*statuses: int) -> dict[int, type[ProblemTold]]:
    """The problems that an operation names beside those that all have."""
    return dict.fromkeys(sorted({400, 401, 403, 503, *statuses}), ProblemTold)


# Of an operation that changes something.
CHANGING = (409, 413, 415, 422)


def answer_of(problem: Problem) -> HttpResponse:
    """The answer that tells a problem."""
    facts: dict[str, Any] = {
        "type": problem.kind.urn,
        "title": problem.kind.title,
        "status": problem.kind.status,
        "detail": problem.detail,
    }
    if problem.faults:
        facts["errors"] = [
            {"field": fault.field, "detail": fault.sentence} for fault in problem.faults
        ]
    if problem.made:
        facts["made"] = problem.made
    return HttpResponse(
        orjson.dumps(facts),
        status=problem.kind.status,
        content_type=MEDIA_TYPE,
        headers=dict(problem.headers),
    )
