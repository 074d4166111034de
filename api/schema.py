"""What the bodies of requests and responses have in common."""

from typing import Annotated, Any

from django.http import HttpResponse
from ninja.params.functions import Query
from pydantic import BaseModel, BeforeValidator, ConfigDict

LARGEST_NUMBER = 2**63 - 1  # what a bigint holds


def _only_digits(given: Any) -> Any:
    """Raise `ValueError` for other texts that Python reads as a number: 1_0, +1, 1.0."""
    if isinstance(given, str) and not (given.isascii() and given.isdecimal()):
        raise ValueError("A whole number in digits is expected.")
    return given


DecimalInt = Annotated[int, BeforeValidator(_only_digits)]

# The query of a list.
LIMIT = Query(100, ge=1, le=1000, description="How many to a page.", example=100)
BEFORE = Query(None, ge=1, le=LARGEST_NUMBER, description="`next` of the page before.")


class RequestBody(BaseModel):
    """A body: every value has exactly its type, and an unknown field is refused by name."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResponseBody(BaseModel):
    """The JSON of a response."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


def json_response(
    body: ResponseBody, status: int = 200, *, url: str = "", created: bool = False
) -> HttpResponse:
    """Build a response. `url` is its Location if it was `created`, else its Content-Location."""
    return HttpResponse(
        body.model_dump_json(by_alias=True).encode(),
        status=status,
        content_type="application/json",
        headers={"Location" if created else "Content-Location": url} if url else {},
    )
