"""Show the page of all issues, with the things to do and the health of sending."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from delivery.models import Edition, Newsletter
from delivery.monitoring.alarms import mark_seen
from publishing.activity import record_issue_activity
from publishing.dashboard.desk_context import Viewer, desk_context, read_sending
from publishing.dashboard.issue_pages import IssueSearch, Sort, Tab
from publishing.desk_access import desk_page, may_operate, may_see_the_desk, user_id_of
from publishing.flash_messages import notes_of
from publishing.progress.live_page import Poll, ask_desk_again_s, next_poll, poll_from
from subscribers.links.see_other import see_other

HIGHEST_ID = 2**63 - 1


@may_see_the_desk
@require_safe
def issues(request: HttpRequest) -> HttpResponse:
    """Show the page, with the parts that the user's permissions allow."""
    viewer = Viewer(request.user)
    poll = poll_from(request) if viewer.looks else None
    if poll is not None:
        return _update(request, poll)
    search = IssueSearch.from_query(request.GET)
    context = desk_context(viewer, search)
    return desk_page(
        request,
        "publishing/dashboard/issues.html",
        {
            **context,
            "poll": next_poll(request, ask_desk_again_s(is_sending=bool(context["sending"]))),
            "search": search,
            "sort": search.sort,
            "sorts": [(one, one.label, _address(replace(search, sort=one))) for one in Sort],
            "tabs": [
                (tab, tab.label, _address(replace(search, tab=tab)))
                for tab in Tab
                if viewer.writes or tab is not Tab.DRAFTS
            ],
            "older": _address(search, before=older) if (older := context["next_page"]) else "",
            "newest": _address(search),
            "is_searched": bool(search.text or search.before or search.tab != Tab.ALL),
            "notes": notes_of(request),
        },
    )


def _update(request: HttpRequest, poll: Poll) -> HttpResponse:
    newsletter = Newsletter.objects.get_current()
    sending, contents, read_at = read_sending(newsletter)
    context: dict[str, Any] = {"sending": sending, "read_at": read_at, "is_update": True}
    with timezone.override(newsletter.zone):
        parts = render_to_string("publishing/dashboard/sending_list.html", context, request)
        tag, unchanged = poll.compare(parts)
        after_s = ask_desk_again_s(
            is_sending=bool(sending), hidden=poll.is_hidden, unchanged=unchanged
        )
        context["poll"] = next_poll(request, after_s, seen=tag, unchanged=unchanged)
        context |= {"is_news": not unchanged, "is_old": contents != poll.listed}
        body = render_to_string("publishing/dashboard/issues_update.html", context, request)
    return HttpResponse(body, headers={"Cache-Control": "no-store"})


class AlarmsForm(forms.Form):
    """A posted form: the edition whose alarms are seen, and the newest shown alarm."""

    edition = forms.IntegerField(min_value=1, max_value=HIGHEST_ID)
    up_to = forms.IntegerField(min_value=1, max_value=HIGHEST_ID)


@may_operate
@require_POST
def acknowledge_alarms(request: HttpRequest) -> HttpResponse:
    """Mark the alarms of an edition as seen. Posting twice is safe."""
    form = AlarmsForm(request.POST)
    if not form.is_valid():
        return see_other(reverse("desk:issues"))
    edition = Edition.objects.filter(pk=form.cleaned_data["edition"]).first()
    up_to = form.cleaned_data["up_to"]
    looked = mark_seen(edition.pk, up_to, user_id_of(request)) if edition else 0
    if edition and looked:
        record_issue_activity.record_action(user_id_of(request), edition, "acknowledge_alarms")
        messages.success(request, _("Done. The page of the issue still lists the alarms."))
    return see_other(reverse("desk:issues"))


def _address(search: IssueSearch, *, before: str = "") -> str:
    show = "" if search.tab is Tab.ALL else search.tab.value
    sort = "" if search.sort is Sort.NEWEST else search.sort.value
    parts = {"show": show, "q": search.text, "sort": sort, "before": before}
    query = urlencode({name: value for name, value in parts.items() if value})
    return f"{reverse('desk:issues')}{'?' if query else ''}{query}#issues"
