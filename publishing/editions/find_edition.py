"""Find the editions that URLs and command lines name by issue and version."""

import re
import uuid

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from delivery.models import Edition
from publishing.editions.edition_status import (
    EditionStatus,
    NoSuchEditionError,
    load_edition,
    load_statuses_by_name,
)

HIGHEST_VERSION = 2_000_000_000
LONGEST_SHOWN = 40


def parse_issue_id(text: str) -> uuid.UUID:
    """Return the id of an issue from `text`. Raises `ValueError` with one sentence."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise ValueError(
            _(
                "“{text}” is not the id of an issue. Give the UUID from the address of the "
                "issue’s page."
            ).format(text=_shown(text))
        ) from None


def parse_version(text: str | None) -> int | None:
    """Return the version in `text`; None for the newest. Raises `ValueError`."""
    if text is None:
        return None
    if not (re.fullmatch("[0-9]{1,10}", text) and 1 <= int(text) <= HIGHEST_VERSION):
        raise ValueError(
            _("“{text}” is not a version. Give a whole number from 1.").format(text=_shown(text))
        )
    return int(text)


def progress_url(edition: Edition) -> str:
    """Return the address of an edition's progress page."""
    return f"{reverse('desk:progress', args=[edition.issue_id])}?version={edition.version}"


def edition_from_url(request: HttpRequest, issue: uuid.UUID) -> Edition:
    """Return the edition that a URL names by its issue and `?version=`.

    Raises `Http404`.
    """
    try:
        return load_edition(issue, parse_version(request.GET.get("version")))
    except (NoSuchEditionError, ValueError) as error:
        raise Http404(str(error)) from None


def statuses_from_url(
    request: HttpRequest, issue: uuid.UUID
) -> tuple[EditionStatus, list[EditionStatus]]:
    """Return the status of the URL's edition, and of all versions of its issue.

    Raises `Http404`.
    """
    try:
        return load_statuses_by_name(issue, parse_version(request.GET.get("version")))
    except (NoSuchEditionError, ValueError) as error:
        raise Http404(str(error)) from None


def _shown(text: str) -> str:
    short = text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
    return "".join(one if one.isprintable() else " " for one in short)
