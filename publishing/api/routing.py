"""The router of the calls about issues, and the URLs of editions."""

import uuid

from django.urls import reverse
from ninja import Router
from ninja.params.functions import Query

from api.problem import ProblemError, ProblemType
from delivery.models import Edition
from publishing.editions.edition_status import NoSuchEditionError, load_edition
from publishing.editions.find_edition import HIGHEST_VERSION

router = Router(tags=["Issues"])
# An action needs the version that the caller saw, because a newer one may exist now.
THE_VERSION = Query(
    ..., ge=1, le=HIGHEST_VERSION, description="The version that the call acts on.", example=1
)


def address_of(edition: Edition) -> str:
    """Return the URL of an edition's status."""
    return f"{reverse('api:issue_status', args=[edition.issue_id])}?version={edition.version}"


def edition_named(issue: uuid.UUID, version: int | None) -> Edition:
    """Return the named version of an issue, or the newest if `version` is None.

    Raises `ProblemError`.
    """
    try:
        return load_edition(issue, version)
    except NoSuchEditionError as error:
        raise ProblemError(ProblemType.NOT_FOUND, str(error)) from None
