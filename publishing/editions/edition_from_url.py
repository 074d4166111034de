"""Which edition an address names."""

from __future__ import annotations

import uuid

from django.http import Http404, HttpRequest

from delivery.models import Edition
from publishing.editions.parse_edition_name import version_number
from publishing.editions.status import NoSuchEditionError, Status, edition_of, statuses_named


def named_edition(request: HttpRequest, issue: uuid.UUID) -> Edition:
    """The edition that an address names, by issue and `?version=`. Raises `Http404`."""
    try:
        return edition_of(issue, version_number(request.GET.get("version")))
    except (NoSuchEditionError, ValueError) as error:
        raise Http404(str(error)) from None


def named_statuses(request: HttpRequest, issue: uuid.UUID) -> tuple[Status, list[Status]]:
    """The status of that edition, and of all versions of its issue. Raises `Http404`."""
    try:
        return statuses_named(issue, version_number(request.GET.get("version")))
    except (NoSuchEditionError, ValueError) as error:
        raise Http404(str(error)) from None
