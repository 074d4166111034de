"""The desk: all issues at a glance, what asks for somebody, and how sending does."""

from __future__ import annotations

import hashlib
import json
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_POST, require_safe

from delivery.humanise import clock
from delivery.models import Edition, Newsletter
from delivery.monitoring.alarms import mark_seen
from publishing.activity import record_activity
from publishing.dashboard.dashboard import Viewer, overview_of, reading_of
from publishing.dashboard.issue_pages import LookedFor, Tab
from publishing.dashboard.sending_now import live_json
from publishing.desk_access import author_of, desk_page, may_look, may_operate, may_see_the_desk
from publishing.flash_messages import notes_of
from subscribers.links.see_other import see_other

LONGEST_ID = 18


@may_see_the_desk
@require_safe
def issues(request: HttpRequest) -> HttpResponse:
    """The overview: each viewer sees the parts that they have to do with."""
    given = request.GET
    looked_for = LookedFor.for_(given.get("show", ""), given.get("q", ""), given.get("before", ""))
    overview = overview_of(Viewer.of(request.user), looked_for)
    return desk_page(
        request,
        "publishing/issues.html",
        {
            "overview": overview,
            "viewer": overview.viewer,
            "looked_for": looked_for,
            "tabs": _tabs(looked_for, sees_drafts=overview.viewer.writes),
            "older": _address(looked_for, before=older) if (older := overview.issues.next) else "",
            "newest": _address(looked_for),
            "is_searched": bool(looked_for.text or looked_for.before or looked_for.tab != Tab.ALL),
            "notes": notes_of(request),
        },
    )


@may_look
@require_safe
def issues_json(request: HttpRequest) -> HttpResponse:
    """What goes out at this moment, told again only where it is news (`ETag`)."""
    going, here, read_at = reading_of(newsletter := Newsletter.objects.the_one())
    body = json.dumps(live_json(going, here=here)).encode()
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    answer = HttpResponse(body, content_type="application/json")
    answer.headers["ETag"] = tag
    answer = get_conditional_response(request, etag=tag, response=answer) or answer
    answer.headers["Homing-Updated"] = clock(read_at, newsletter.zone)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@may_operate
@require_POST
def look_at_alarms(request: HttpRequest) -> HttpResponse:
    """Somebody has looked at the alarms of an edition, and says so. Twice is no more than once."""
    edition = Edition.objects.filter(pk=_number(request.POST.get("edition", ""))).first()
    up_to = _number(request.POST.get("up_to", ""))
    looked = mark_seen(edition.pk, up_to, author_of(request)) if edition else 0
    if edition and looked:
        record_activity.record_action(author_of(request), edition, "look_at_alarms")
        messages.success(request, "Noted. The alarms stay on the page of the issue.")
    return see_other(reverse("desk:issues"))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= LONGEST_ID else 0


def _tabs(looked_for: LookedFor, *, sees_drafts: bool) -> list[dict[str, object]]:
    return [
        {
            "words": tab.words,
            "is_here": tab is looked_for.tab,
            "address": _address(LookedFor(tab, looked_for.text)),
        }
        for tab in Tab
        if sees_drafts or tab is not Tab.DRAFTS
    ]


def _address(looked_for: LookedFor, *, before: str = "") -> str:
    """The query of an address that looks for the same."""
    show = "" if looked_for.tab is Tab.ALL else looked_for.tab.value
    parts = {"show": show, "q": looked_for.text, "before": before}
    query = urlencode({name: value for name, value in parts.items() if value})
    return f"{reverse('desk:issues')}{'?' if query else ''}{query}#issues"
