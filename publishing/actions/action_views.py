"""Pages that confirm an action, change a time, or list an issue."""

import uuid
from datetime import datetime
from functools import partial

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from delivery.models import Edition
from publishing.actions.action_sentences import ActionRefusal, button, question, refusal_sentence
from publishing.actions.edition_actions import (
    ACTIONS,
    OLD_NAMES,
    CannotDoThatError,
    perform,
    readers_now,
    refusal_of,
)
from publishing.actions.edition_actions import reschedule as give_time
from publishing.activity import record_issue_activity
from publishing.content.edition_content import plain_title
from publishing.desk_access import desk_page, may_operate, may_publish, may_write, user_id_of
from publishing.desk_permissions import PUBLISH
from publishing.drafts.save_draft import open_for_issue
from publishing.editions.archive_visibility import archive_sentence, set_visibility
from publishing.editions.edition_status import load_status
from publishing.editions.find_edition import edition_from_url, progress_url
from publishing.editions.versions import may_send_to_remaining, versions_of
from publishing.flash_messages import UNTIL_STARTED
from publishing.models import Issue, Visibility
from publishing.preflight.preflight_view import schedule_hint
from publishing.scheduling.schedule_form import RescheduleForm, ScheduleForm
from subscribers.links.see_other import see_other

NOW_UNLISTED = gettext_lazy(
    "The issue is now unlisted. Anyone with the link can read it. It is hidden from the archive, "
    "the feed and search engines."
)
NOW_LISTED = gettext_lazy(
    "The issue is now listed in the archive, in the feed and for search engines."
)
CHOICES = {"unlist": Visibility.UNLISTED, "list": Visibility.PUBLIC}


@may_operate
@require_http_methods(["GET", "HEAD", "POST"])
def action(request: HttpRequest, issue: uuid.UUID, name: str) -> HttpResponse:
    """Ask about an action on GET, run it on POST.

    A second POST of the same action changes nothing.
    """
    name = OLD_NAMES.get(name, name)
    if name not in ACTIONS:
        raise Http404(_("There is no action “{name}”.").format(name=name))
    edition = edition_from_url(request, issue)
    has_version = "version" in request.GET
    back = progress_url(edition) if has_version else reverse("desk:progress", args=[issue])
    may_unlist = name == "cancel" and request.user.has_perm(PUBLISH) and not edition.issue.unlisted
    status = load_status(edition.pk)
    if request.method == "POST":
        unlists = may_unlist and "unlisted" in request.POST

        def record(code: str) -> None:
            record_issue_activity.record_action(user_id_of(request), edition, code)
            if unlists:
                set_visibility(user_id_of(request), edition.issue_id, Visibility.UNLISTED)

        try:
            done = perform(name, edition, status, record=record)
        except CannotDoThatError as error:
            messages.warning(request, str(error))
        else:
            for sentence, until in done:
                messages.success(request, sentence, extra_tags=until)
        return see_other(back)
    refusal = refusal_of(name, status)
    if refusal:
        messages.warning(request, refusal_sentence(refusal, status))
        return see_other(back)
    readers = readers_now(status)
    may_have_left = status.counts.sent + status.counts.unknown + status.counts.being_sent > 0
    return desk_page(
        request,
        "publishing/progress/edition_action.html",
        {
            "title": plain_title(edition),
            "action": ACTIONS[name],
            "question": question(name, status, readers),
            "button": button(name, status, readers),
            "status": status,
            "asks_about_archive": may_unlist and may_have_left,
            "back": back,
        },
    )


@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def reschedule(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """Show the time of the issue on GET, change it on POST. Posting twice is safe."""
    edition = edition_from_url(request, issue)
    status = load_status(edition.pk)
    moment, back = status.counts.scheduled, progress_url(edition)
    fields = partial(RescheduleForm, now=status.counts.now)
    if request.method == "POST":
        form = fields(request.POST)
        if form.is_valid() and form.moment is not None:
            at = form.moment
            try:
                give_time(
                    edition,
                    at,
                    before=_before(request.POST.get("before", "")),
                    record=lambda old: record_issue_activity.record_rescheduling(
                        user_id_of(request), edition, old, at
                    ),
                )
            except CannotDoThatError as error:
                messages.warning(request, str(error))
            else:
                sentence = _("The issue goes out on {time}.").format(time=at.words)
                messages.success(request, sentence, extra_tags=UNTIL_STARTED)
            return see_other(back)
    refusal = refusal_of("reschedule", status)
    if refusal or moment is None:
        refusal = refusal or ActionRefusal.NOT_SCHEDULED
        messages.warning(request, refusal_sentence(refusal, status))
        return see_other(back)
    if request.method != "POST":
        form = fields(shown=moment)
    return desk_page(
        request,
        "publishing/scheduling/reschedule.html",
        {
            "edition": edition,
            "title": plain_title(edition),
            "moment": moment,
            "schedule_hint": schedule_hint(
                status.whom, is_mailed=status.counts.goes_to != Edition.GoesTo.NOBODY
            ),
            "when": form,
            "back": back,
        },
    )


@may_write
@require_safe
def describe_time(request: HttpRequest) -> HttpResponse:
    """Return what a local time means, while an author is still typing it.

    The answer is the time in UTC, a refusal, or a choice between two times.
    """
    kind = ScheduleForm if "when" in request.GET else RescheduleForm
    form = kind(request.GET, now=timezone.now())
    page = render(
        request, "publishing/scheduling/when_said.html", {"when": form, "is_update": True}
    )
    page["Cache-Control"] = "no-store"
    return page


def _before(posted: str) -> datetime | None:
    """Return the scheduled time that the form showed; None if the form posted no time."""
    try:
        return parse_datetime(posted)
    except ValueError:
        return None


@may_publish
@require_POST
def send_to_remaining(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """Redirect to the check sheet for sending the letter to the remaining readers."""
    newest = versions_of(issue).first()
    if newest is None:
        raise Http404(_("There is no issue {issue}.").format(issue=issue))
    if not may_send_to_remaining(newest, load_status(newest.pk).counts):
        messages.warning(request, _("There are no remaining readers to send this issue to."))
        return see_other(reverse("desk:progress", args=[issue]))
    draft = open_for_issue(user_id_of(request), issue)
    return see_other(reverse("desk:check", args=[draft.pk]))


@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def listing(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """On POST, list or unlist the issue; on GET, redirect to the page with the button."""
    if not versions_of(issue).exists():
        raise Http404(_("There is no issue {issue}.").format(issue=issue))
    if request.method == "POST":
        visibility = CHOICES.get(request.POST.get("choice", ""))
        if visibility is None:
            messages.warning(
                request, _("Nothing was changed: choose whether the issue is listed or unlisted.")
            )
        else:
            set_visibility(user_id_of(request), issue, visibility)
            match Issue.objects.get(pk=issue).visibility:
                case Visibility.PUBLIC:
                    messages.success(request, NOW_LISTED)
                case Visibility.UNLISTED:
                    messages.success(request, NOW_UNLISTED)
                case Visibility.NONE:
                    messages.warning(request, archive_sentence(Visibility.NONE))
    return see_other(reverse("desk:progress", args=[issue]))
