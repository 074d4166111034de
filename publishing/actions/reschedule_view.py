"""Another time for a scheduled issue: a page with its time in a form."""

import uuid
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_http_methods

from delivery.models import Edition, Newsletter
from publishing.actions.action_sentences import refusal_sentence, rescheduled_sentence
from publishing.actions.edition_actions import ActionRefusal, CannotDoThatError, refuse_reschedule
from publishing.actions.edition_actions import reschedule as give_time
from publishing.activity import record_activity
from publishing.content.edition_content import plain_title
from publishing.desk_access import author_of, desk_page, may_publish
from publishing.editions.edition_from_url import edition_from_url
from publishing.editions.status import load_status
from publishing.preflight.preflight_view import schedule_hint
from publishing.scheduling.local_time import fold_choice
from publishing.scheduling.schedule_form import RescheduleForm
from subscribers.links.see_other import see_other


@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def reschedule(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """GET shows the time of the issue, POST changes it; posting twice is safe."""
    edition = edition_from_url(request, issue)
    status = load_status(edition.pk)
    moment = status.counts.scheduled
    back = f"{reverse('desk:progress', args=[issue])}?version={edition.version}"
    own_zone = Newsletter.objects.get_current().time_zone
    if request.method == "POST":
        form = RescheduleForm(request.POST, own_zone=own_zone, now=status.counts.now)
        if form.is_valid() and form.moment is not None:
            at = form.moment
            try:
                give_time(
                    edition,
                    at,
                    before=_before(request.POST.get("before", "")),
                    record=lambda old: record_activity.record_rescheduling(
                        author_of(request), edition, old, at
                    ),
                )
            except CannotDoThatError as error:
                messages.warning(request, refusal_sentence(error))
            else:
                messages.success(request, rescheduled_sentence(at))
            return see_other(back)
    refusal = refuse_reschedule(status)
    if refusal or moment is None:
        refused = CannotDoThatError(refusal or ActionRefusal.NOT_SCHEDULED, edition, status)
        messages.warning(request, refusal_sentence(refused))
        return see_other(back)
    if request.method != "POST":
        as_it_is = {"at": moment.local, "zone": moment.zone, "which": fold_choice(moment)}
        form = RescheduleForm(own_zone=own_zone, now=status.counts.now, initial=as_it_is)
    return desk_page(
        request,
        "publishing/reschedule.html",
        {
            "edition": edition,
            "title": plain_title(edition),
            "moment": moment,
            "schedule_hint": schedule_hint(
                status.counts.whom, is_mailed=status.counts.goes_to != Edition.GoesTo.NOBODY
            ),
            "when": form,
            "back": back,
        },
    )


def _before(posted: str) -> datetime | None:
    """The time that the form was shown with; None if the post does not say."""
    try:
        return parse_datetime(posted)
    except ValueError:
        return None
