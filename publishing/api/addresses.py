"""The addresses of the API that lead to editions."""

from __future__ import annotations

from django.urls import reverse

from delivery.models import Edition


def address_of(edition: Edition) -> str:
    """Where it is told how this edition stands."""
    return f"{reverse('api:issue_status', args=[edition.issue_id])}?version={edition.version}"
