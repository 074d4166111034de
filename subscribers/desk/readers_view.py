"""The list of readers on the desk, and the same as a file."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from subscribers.data_requests.personal_data_sentences import GLYPHS, TONES
from subscribers.desk.reader_list import (
    SEARCH_S,
    Looked,
    SearchTookTooLongError,
    counts_by_state,
    everybody,
    page_of,
    suppressed_elsewhere,
)
from subscribers.desk.readers_csv import came_by, lines_of
from subscribers.desk_access import desk_page, may_manage_readers, operator_of
from subscribers.models import Subscriber
from subscribers.models.suppression import why_suppressed
from subscribers.record_activity import record_export
from subscribers.signup.embed_form import html_of_form


@may_manage_readers
@require_safe
def readers(request: HttpRequest) -> HttpResponse:
    """Some readers to a page, newest first, all of them or those that are looked for."""
    looked = _looked(request)
    counts = counts_by_state()
    before = request.GET.get("before", "")
    took_too_long = False
    suppressed = suppressed_elsewhere(looked) if "@" in looked.text else None
    try:
        page = page_of(looked, int(before) if before.isdecimal() and len(before) < 19 else None)
        found, next_before = page.readers, page.before
    except SearchTookTooLongError:
        found, next_before, took_too_long = [], None, True
    return desk_page(
        request,
        "subscribers/desk/readers.html",
        {
            "rows": [_row(reader) for reader in found],
            "counts": counts,
            "everybody": sum(counts.values()),
            "tabs": _tabs(looked, counts),
            "looked": looked,
            "suppressed": suppressed,
            "why_suppressed": suppressed and why_suppressed(suppressed.reason, suppressed.origin),
            "took_too_long": took_too_long,
            "search_s": SEARCH_S,
            "is_first": not before,
            "next": _address(looked, before=next_before) if next_before else "",
            "file": _address(looked),
        },
        status=503 if took_too_long else 200,
    )


@may_manage_readers
@require_safe
def readers_file(request: HttpRequest) -> StreamingHttpResponse:
    """Those that are looked for, as a CSV file, sent while it is read."""
    looked = _looked(request)
    record_export(operator_of(request), looked.state)
    file = StreamingHttpResponse(
        lines_of(everybody(looked)), content_type="text/csv; charset=utf-8"
    )
    file["Content-Disposition"] = f'attachment; filename="readers{_dash(looked.state)}.csv"'
    file["Cache-Control"] = "no-store"
    return file


@may_manage_readers
@require_safe
def form_elsewhere(request: HttpRequest) -> HttpResponse:
    """The HTML of a sign-up form for another site, to be copied from the page."""
    html = html_of_form(settings.SITE_URL)
    return desk_page(
        request,
        "subscribers/desk/form_elsewhere.html",
        {"html": html, "lines": html.count("\n") + 1},
    )


def _dash(word: str) -> str:
    return f"-{word}" if word else ""


def _looked(request: HttpRequest) -> Looked:
    return Looked.for_(request.GET.get("state", ""), request.GET.get("q", ""))


def _row(reader: Subscriber) -> dict[str, object]:
    return {
        "reader": reader,
        "state": reader.state.capitalize(),
        "glyph": GLYPHS[reader.state],
        "tone": TONES[reader.state],
        "since": reader.since,
        "came_by": came_by(reader),
    }


def _tabs(looked: Looked, counts: Mapping[str, int]) -> list[dict[str, object]]:
    order = ("confirmed", "pending", "unsubscribed", "bounced", "complained")
    tabs: list[dict[str, object]] = [
        {
            "words": state.capitalize(),
            "count": counts[state],
            "is_here": looked.state == state,
            "address": _address(Looked(state, looked.text)),
        }
        for state in order
    ]
    whole = {
        "words": "All",
        "count": sum(counts.values()),
        "is_here": not looked.state,
        "address": _address(Looked("", looked.text)),
    }
    return [*tabs, whole]


def _address(looked: Looked, *, before: int | None = None) -> str:
    """The query of an address that looks for the same."""
    parts = {"state": looked.state, "q": looked.text, "before": before}
    return "?" + urlencode({name: value for name, value in parts.items() if value})
