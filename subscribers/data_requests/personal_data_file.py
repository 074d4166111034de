"""A record as a file, for the person it is about and for the desk."""

from __future__ import annotations

from django.http import HttpResponse

from subscribers.data_requests.personal_data import Record
from subscribers.links.token_page import kept_secret


def record_file(record: Record) -> HttpResponse:
    """A record as a file that a browser saves; no cache keeps it."""
    file = HttpResponse(record.as_json(), content_type="application/json")
    file["Content-Disposition"] = 'attachment; filename="record.json"'
    return kept_secret(file)
