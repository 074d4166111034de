"""
The later readings of a progress page, as JSON.

Many pages may be open while workers send, so a reading is told again only if it says something
new (`ETag`), is shared by those who ask within a second, and comes with the time of the next one.
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from delivery.models import Newsletter
from publishing.desk_access import may_look
from publishing.editions.edition_from_url import statuses_from_url
from publishing.editions.status import EditionStatus
from publishing.progress.open_pages import OpenPages, SharedReadings
from publishing.progress.poll_interval import LONGEST_S, ask_again_s
from publishing.progress.progress import live_json, tag_of

# What the script is told beside the reading, also where there is none because nothing is new.
ASK_AGAIN, UPDATED = "Homing-Ask-Again", "Homing-Updated"
_NAME = re.compile(r"[0-9a-z]{4,32}")
_NUMBER = re.compile(r"[0-9]{1,4}")


@dataclass(frozen=True, slots=True)
class _Told:
    """One reading, ready to be given out."""

    status: EditionStatus
    updated: str
    body: bytes
    tag: str


_pages = OpenPages(within_s=1.5 * LONGEST_S, most=5000)
_readings: SharedReadings[_Told] = SharedReadings(for_s=1, most=100)
# It is set once in the life of a newsletter; the page itself, when it is opened, reads it anew.
_zone: SharedReadings[ZoneInfo] = SharedReadings(for_s=10, most=1)


@may_look
@require_safe
def progress_json(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """
    The keys of `issue_status` with `rate` and `eta_s`, and what the page shows of them.

    A page names itself (`page`) and says whether it is hidden and how often in a row it heard
    nothing new. Who does not is given a reading of their own.
    """

    def read() -> _Told:
        return _told(request, issue)

    page = request.GET.get("page", "")
    hidden, pages = request.GET.get("hidden") == "1", 1
    if _NAME.fullmatch(page):
        pages = _pages.seen(page, hidden=hidden)
        told = _readings.get((issue, request.GET.get("version")), read)
    else:
        told = read()
    unchanged = 0
    if request.headers.get("If-None-Match") == told.tag:
        same = request.GET.get("same", "")
        unchanged = 1 + (int(same) if _NUMBER.fullmatch(same) else 0)
    answer = HttpResponse(told.body, content_type="application/json")
    answer.headers["ETag"] = told.tag
    answer = get_conditional_response(request, etag=told.tag, response=answer) or answer
    pause = ask_again_s(told.status, hidden=hidden, unchanged=unchanged, pages=pages)
    answer.headers[ASK_AGAIN] = "never" if pause is None else f"{pause:g}"
    answer.headers[UPDATED] = told.updated
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _told(request: HttpRequest, issue: uuid.UUID) -> _Told:
    status, versions = statuses_from_url(request, issue)
    zone = _zone.get("zone", lambda: Newsletter.objects.the_one().zone)
    said = live_json(status, zone, versions)
    return _Told(status, said["page"]["text"]["updated"], json.dumps(said).encode(), tag_of(said))
