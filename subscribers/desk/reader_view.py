"""One reader on the desk: what is held, and what may be done."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from subscribers.data_requests.personal_data import record_of
from subscribers.data_requests.personal_data_file import record_file
from subscribers.data_requests.personal_data_sentences import in_words
from subscribers.desk.reader_actions import ACTIONS, possible
from subscribers.desk.reader_sentence import standing_of
from subscribers.desk_access import desk_page, may_manage_readers, operator_of
from subscribers.links.see_other import see_other
from subscribers.models import Subscriber
from subscribers.record_activity import record_reader_activity


def _reader(reader: int) -> Subscriber:
    # A number that no bigint holds is nobody's.
    found = Subscriber.objects.filter(pk=reader).first() if reader < 1 << 63 else None
    if found is None:
        raise Http404("There is no reader of this number.")
    return found


@may_manage_readers
@require_safe
def show_reader(request: HttpRequest, reader: int) -> HttpResponse:
    """What is held about one reader, with a link for each thing that may be done."""
    found = _reader(reader)
    record = record_of(found.pk)
    if record is None:
        raise Http404("There is no reader of this number.")
    return desk_page(
        request,
        "subscribers/desk/reader.html",
        {
            "reader": found,
            "record": record,
            "words": in_words(record),
            "standing": standing_of(record),
            "actions": possible(found),
        },
    )


@may_manage_readers
@require_safe
def reader_file(request: HttpRequest, reader: int) -> HttpResponse:
    """The record of one reader as a file, for somebody who asked for it by letter or by phone."""
    record = record_of(_reader(reader).pk)
    if record is None:
        raise Http404("There is no reader of this number.")
    record_reader_activity("download_data", operator_of(request), reader)
    return record_file(record)


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def act_on_reader(request: HttpRequest, reader: int, name: str) -> HttpResponse:
    """GET asks, POST does it. Pressing twice does no more than pressing once."""
    if name not in ACTIONS:
        raise Http404("There is nothing of this name to be done about a reader.")
    action, back = ACTIONS[name], reverse("readers:reader", args=[reader])
    found = _reader(reader)
    if request.method != "POST":
        return desk_page(
            request,
            "subscribers/desk/action.html",
            {"reader": found, "action": action, "back": back, "may": action.may(found)},
        )
    with transaction.atomic():
        done = action.perform(reader)
        if done:
            record_reader_activity(name, operator_of(request), reader)
    if done:
        messages.success(request, action.done)
    else:
        messages.warning(request, "There was nothing to do: it is so already.")
    gone = not Subscriber.objects.filter(pk=reader).exists()
    return see_other(reverse("readers:list") if gone else back)
