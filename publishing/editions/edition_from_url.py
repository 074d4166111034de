"""Which edition an address names."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest

from delivery.models import Edition
from publishing.editions.parse_edition_name import parse_version
from publishing.editions.status import (
    EditionStatus,
    NoSuchEditionError,
    load_edition,
    load_statuses_by_name,
)


def edition_from_url(request: HttpRequest, issue: uuid.UUID) -> Edition:
    """The edition that an address names, by issue and `?version=`. Raises `Http404`."""
    try:
        return load_edition(issue, parse_version(request.GET.get("version")))
    except (NoSuchEditionError, ValueError) as error:
        raise Http404(str(error)) from None


def statuses_from_url(
    request: HttpRequest, issue: uuid.UUID
) -> tuple[EditionStatus, list[EditionStatus]]:
    """The status of that edition, and of all versions of its issue. Raises `Http404`."""
    try:
        return load_statuses_by_name(issue, parse_version(request.GET.get("version")))
    except (NoSuchEditionError, ValueError) as error:
        raise Http404(str(error)) from None
