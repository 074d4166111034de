"""What bodies and answers have in common: strict where they are read, plain where they are told."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpResponse
from ninja.params.functions import Query
from pydantic import BaseModel, BeforeValidator, ConfigDict

MOST_IN_A_PAGE = 1000
USUAL_PAGE = 100
# What a bigint holds; beyond it nothing has a number.
LARGEST_NUMBER = 2**63 - 1


def _in_digits(given: Any) -> Any:
    """Raises `ValueError` for what Python reads as a number too: 1_0, +1, 1.0."""
    if isinstance(given, str) and not (given.isascii() and given.isdecimal()):
        raise ValueError("A whole number in digits is expected.")
    return given


# A number in a query.
InDigits = Annotated[int, BeforeValidator(_in_digits)]

# The query of a list: both, where it is by number.
LIMIT = Query(
    USUAL_PAGE, ge=1, le=MOST_IN_A_PAGE, description="How many to a page.", example=USUAL_PAGE
)
BEFORE = Query(None, ge=1, le=LARGEST_NUMBER, description="`next` of the page before.")


class Posted(BaseModel):
    """A body: every value is of its own type, and a field that is not known is refused by name."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Told(BaseModel):
    """An answer."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


def json_answer(told: Told, status: int = 200, *, at: str = "", made: bool = False) -> HttpResponse:
    """
    An answer whole, as it is saved: `at` is the address of what it speaks of, which is a Location
    where it was `made` by the call.
    """
    headers: dict[str, Any] = {}
    if at:
        headers["Location" if made else "Content-Location"] = at
    return HttpResponse(
        told.model_dump_json(by_alias=True).encode(),
        status=status,
        content_type="application/json",
        headers=headers,
    )
