"""The addresses of the API that lead to editions."""

from __future__ import annotations

import uuid

from django.urls import reverse
from ninja.params.functions import Query

from api.problem import Kind, ProblemError
from delivery.models import Edition
from publishing.naming_editions import HIGHEST_VERSION
from publishing.status import NoSuchEditionError, edition_of

# Done is what was meant for the version that was looked at, whatever was published meanwhile.
THE_VERSION = Query(
    ..., ge=1, le=HIGHEST_VERSION, description="The version; what is done is done to it.", example=1
)


def address_of(edition: Edition) -> str:
    """Where it is told how this edition stands."""
    return f"{reverse('api:issue_status', args=[edition.issue_id])}?version={edition.version}"


def edition_named(issue: uuid.UUID, version: int | None) -> Edition:
    """The edition that a call names, the newest without a version. Raises `ProblemError`."""
    try:
        return edition_of(issue, version)
    except NoSuchEditionError as error:
        raise ProblemError(Kind.NOT_FOUND, str(error)) from None
