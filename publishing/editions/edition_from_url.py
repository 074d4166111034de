"""The editions that addresses name."""

import uuid

from django.http import Http404, HttpRequest
from django.urls import reverse

from delivery.models import Edition
from publishing.editions.parse_edition_name import parse_version
from publishing.editions.status import (
    EditionStatus,
    NoSuchEditionError,
    load_edition,
    load_statuses_by_name,
)


def progress_url(edition: Edition) -> str:
    """Return the address of an edition's progress page."""
    return f"{reverse('desk:progress', args=[edition.issue_id])}?version={edition.version}"


def edition_from_url(request: HttpRequest, issue: uuid.UUID) -> Edition:
    """Return the edition that an address names, by issue and `?version=`. Raises `Http404`."""
    try:
        return load_edition(issue, parse_version(request.GET.get("version")))
    except (NoSuchEditionError, ValueError) as error:
        raise Http404(str(error)) from None


def statuses_from_url(
    request: HttpRequest, issue: uuid.UUID
) -> tuple[EditionStatus, list[EditionStatus]]:
    """Return the status of that edition, and of all versions of its issue. Raises `Http404`."""
    try:
        return load_statuses_by_name(issue, parse_version(request.GET.get("version")))
    except (NoSuchEditionError, ValueError) as error:
        raise Http404(str(error)) from None
