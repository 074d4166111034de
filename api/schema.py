"""Shared parts of the bodies of requests and responses."""

import re
from datetime import date
from typing import Annotated, Any

from django.http import HttpResponse
from ninja.params.functions import Query
from pydantic import BaseModel, BeforeValidator, ConfigDict

LARGEST_NUMBER = 2**63 - 1  # the largest bigint of PostgreSQL


def _only_digits(given: Any) -> Any:
    """Raise `ValueError` for 1_0, +1 and 1.0, which Python reads as numbers."""
    if isinstance(given, str) and not (given.isascii() and given.isdecimal()):
        raise ValueError("Send a whole number in digits.")
    return given


def _only_iso(given: Any) -> Any:
    """Raise `ValueError` for numbers and times, which pydantic reads as dates."""
    if isinstance(given, str) and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", given, re.ASCII):
        raise ValueError("Send a day as YYYY-MM-DD.")
    return given


DecimalInt = Annotated[int, BeforeValidator(_only_digits)]
IsoDay = Annotated[date, BeforeValidator(_only_iso)]

# The query parameters of calls that return a list.
LIMIT = Query(100, ge=1, le=1000, description="The number of items on a page.", example=100)
BEFORE = Query(None, ge=1, le=LARGEST_NUMBER, description="`next` of the previous page.")


class RequestBody(BaseModel):
    """The body of a request. Wrong types and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResponseBody(BaseModel):
    """The body of a response, as JSON."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


def json_response(body: ResponseBody, *, url: str = "", created: bool = False) -> HttpResponse:
    """Build a response: 201 with `url` as its Location if `created`, else 200."""
    return HttpResponse(
        body.model_dump_json(by_alias=True).encode(),
        status=201 if created else 200,
        content_type="application/json",
        headers={"Location" if created else "Content-Location": url} if url else {},
    )
