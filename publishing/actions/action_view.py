"""What may be done to an edition: a sheet that states the numbers, and the button on it."""

import uuid

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from delivery.models import Edition
from publishing.actions.action_sentences import (
    LABELS,
    button,
    done_sentence,
    question,
    refusal_sentence,
)
from publishing.actions.edition_actions import ACTIONS, CannotDoThatError, perform, readers_now
from publishing.activity import record_activity
from publishing.content.edition_content import plain_title
from publishing.desk_access import NO_OPERATOR, PUBLISH, author_of, desk_page, may_operate
from publishing.editions.edition_from_url import edition_from_url
from publishing.editions.listing import set_unlisted
from publishing.editions.status import load_status
from publishing.flash_messages import UNTIL_LEFT
from subscribers.links.see_other import see_other


@may_operate
@require_http_methods(["GET", "HEAD", "POST"])
def action(request: HttpRequest, issue: uuid.UUID, name: str) -> HttpResponse:
    """GET asks, POST does it. Pressing twice does no more than pressing once."""
    if name not in ACTIONS:
        raise Http404("There is nothing of this name to be done to an issue.")
    if not ACTIONS[name].is_open_to(request.user.has_perm):
        raise PermissionDenied(f"{NO_OPERATOR} Ask an operator for it.")
    edition = edition_from_url(request, issue)
    back = _progress_of(edition, request)
    if request.method == "POST":
        return _done(request, edition, name, back)
    status = load_status(edition.pk)
    refusal = ACTIONS[name].refusal(status)
    if refusal:
        messages.warning(request, refusal_sentence(CannotDoThatError(refusal, edition, status)))
        return see_other(back)
    readers = readers_now(status)
    return desk_page(
        request,
        "publishing/action.html",
        {
            "title": plain_title(edition),
            "action": ACTIONS[name],
            "label": LABELS[name],
            "question": question(name, status, readers),
            "button": button(name, status, readers),
            "status": status,
            "asks_about_archive": name == "cancel"
            and status.counts.sent + status.counts.unknown + status.counts.being_sent > 0
            and _may_unlist(request, edition),
            "back": back,
        },
    )


def _may_unlist(request: HttpRequest, edition: Edition) -> bool:
    return bool(request.user.has_perm(PUBLISH)) and not edition.issue.unlisted


def _done(request: HttpRequest, edition: Edition, name: str, back: str) -> HttpResponse:
    unlists = name == "cancel" and "unlisted" in request.POST and _may_unlist(request, edition)

    def record(code: str) -> None:
        record_activity.record_action(author_of(request), edition, code)
        if unlists:
            set_unlisted(author_of(request), edition.issue_id, unlisted=True)

    try:
        done = perform(name, edition, load_status(edition.pk), record=record)
    except CannotDoThatError as error:
        messages.warning(request, refusal_sentence(error))
    else:
        until = UNTIL_LEFT if name == "send-now" and "started_for" not in done.numbers else ""
        messages.success(request, done_sentence(done), extra_tags=until)
    return see_other(back)


def _progress_of(edition: Edition, request: HttpRequest) -> str:
    address = reverse("desk:progress", args=[edition.issue_id])
    return f"{address}?version={edition.version}" if "version" in request.GET else address
