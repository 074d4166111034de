"""The page of a rehearsal: request it, watch it, cancel it, read its report."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from delivery.humanise import kilobytes
from delivery.interface import reason_sentence
from delivery.reports.worker_warnings import task_sentence
from delivery.rules.reason import Reason
from delivery.tasks.leased_task_columns import TaskState
from publishing.content.gmail_limit import GMAIL_CLIPS_AT
from publishing.desk_access import desk_page, may_publish, sees_readers
from publishing.drafts import save_draft
from publishing.editions.sending_time import time_to_send
from publishing.models import Draft, Rehearsal
from publishing.rehearsal.rehearse import (
    CannotRehearseError,
    cancel_rehearsal,
    fingerprint,
    newest_rehearsal,
    request_rehearsal,
)
from subscribers.models import Subscriber

MOST_SHOWN = 100  # the page names at most this many refused readers


@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def rehearsal_page(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Show the newest rehearsal of a draft; on POST request or cancel a rehearsal."""
    found = save_draft.load_draft(pk=draft)
    if found is None:
        raise Http404(_("There is no such draft. It was deleted or never saved."))
    if request.method == "POST":
        _post(request, found)
        return redirect("desk:rehearsal", draft)
    newest = newest_rehearsal(draft)
    context = {"draft": found, "title": str(found), "task": newest}
    context["sentence"] = task_sentence(newest)
    if newest is not None and newest.state == TaskState.FINISHED:
        context |= _report(newest, found, names_readers=sees_readers(request))
    return desk_page(request, "publishing/rehearsal/rehearsal.html", context)


def _post(request: HttpRequest, draft: Draft) -> None:
    if "cancel" in request.POST:
        cancel_rehearsal(draft.pk)
        return
    try:
        is_requested = request_rehearsal(draft)
    except CannotRehearseError:
        messages.error(
            request,
            _(
                "Nothing was rehearsed. The draft was published, or its letter has an error. See "
                "the check sheet."
            ),
        )
        return
    newest = newest_rehearsal(draft.pk)
    if not is_requested and not (newest and newest.is_open):
        messages.info(
            request, _("Another issue is being rehearsed. Try again when its rehearsal has ended.")
        )


def _report(rehearsal: Rehearsal, draft: Draft, *, names_readers: bool) -> dict[str, Any]:
    report = rehearsal.report
    named = report["named"][:MOST_SHOWN]
    addresses: dict[int, str] = {}
    if names_readers:
        ids = [one["reader"] for one in named]
        addresses = dict(Subscriber.objects.filter(pk__in=ids).values_list("pk", "email"))
    return {
        "is_current": bytes(rehearsal.fingerprint) == fingerprint(draft),
        "time_to_send": time_to_send(rehearsal.done),
        "refusals": [
            (reason_sentence(Reason.loads(reason)), number) for reason, number in report["refused"]
        ],
        "readers": [
            (addresses.get(one["reader"], ""), reason_sentence(Reason.loads(one["reason"])))
            for one in named
        ],
        "names_readers": names_readers,
        "not_shown": rehearsal.refused - len(named),
        "sizes": [kilobytes(report[name]) for name in ("smallest", "median", "largest")],
        "clip": kilobytes(GMAIL_CLIPS_AT),
    }
