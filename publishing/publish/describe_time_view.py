"""Say what a local time means while an author types it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from publishing.desk_access import may_write
from publishing.scheduling.schedule_form import RescheduleForm, ScheduleForm


@may_write
@require_safe
def describe_time(request: HttpRequest) -> HttpResponse:
    """Answer with the time in UTC, or with a refusal or a choice between two times."""
    kind = ScheduleForm if "when" in request.GET else RescheduleForm
    form = kind(request.GET, now=timezone.now())
    page = render(
        request, "publishing/scheduling/when_said.html", {"when": form, "is_update": True}
    )
    page["Cache-Control"] = "no-store"
    return page
