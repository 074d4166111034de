"""A reader's page on the desk: personal data and actions."""

from typing import NoReturn

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from subscribers.data_requests.personal_data import PersonalData, load_personal_data
from subscribers.data_requests.personal_data_sentences import describe
from subscribers.desk.reader_actions import ACTIONS, OLD_NAMES, applicable_actions, perform_action
from subscribers.desk.reader_form import ReasonForm
from subscribers.desk.reader_headline import reader_headline
from subscribers.desk_frame import desk_page, may_manage_readers, user_id_of
from subscribers.links.see_other import see_other
from subscribers.models import Subscriber
from subscribers.record_activity import record_reader_activity


def _no_reader() -> NoReturn:
    raise Http404(_("There is no reader with this number."))


def _reader_or_404(reader: int) -> Subscriber:
    return Subscriber.objects.filter(pk=reader).first() or _no_reader()


def _data_or_404(reader: int) -> PersonalData:
    return load_personal_data(reader) or _no_reader()


@may_manage_readers
@require_safe
def show_reader(request: HttpRequest, reader: int) -> HttpResponse:
    """Show the data of one reader, with a link for each action."""
    data = _data_or_404(reader)
    context = {
        "data": data,
        "words": describe(data),
        "headline": reader_headline(data),
        "actions": applicable_actions(_reader_or_404(reader)),
    }
    return desk_page(request, "subscribers/desk/one_reader.html", context)


@may_manage_readers
@require_safe
def reader_file(request: HttpRequest, reader: int) -> HttpResponse:
    """Send the data of a reader as a file, for readers who asked by post or phone."""
    data = _data_or_404(reader)
    record_reader_activity("download_data", user_id_of(request), reader)
    return data.as_file()


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def act_on_reader(request: HttpRequest, reader: int, name: str) -> HttpResponse:
    """Ask for confirmation for GET; perform the action for POST, once."""
    name = OLD_NAMES.get(name, name)
    if name not in ACTIONS:
        raise Http404(_("There is no such action."))
    action, back = ACTIONS[name], reverse("readers:reader", args=[reader])
    found = _reader_or_404(reader)
    is_post = request.method == "POST"
    form = ReasonForm(request.POST if is_post else None) if action.needs_reason else None
    is_invalid = is_post and form is not None and not form.is_valid()
    if not is_post or is_invalid:
        context = {"reader": found, "action": action, "applies": action.applies(found)}
        context |= {"back": back, "form": form}
        status = 422 if is_invalid else 200
        return desk_page(request, "subscribers/desk/reader_action.html", context, status=status)
    reason = form.cleaned_data["reason"] if form else ""
    if perform_action(action, reader, user_id_of(request), reason):
        messages.success(request, str(action.done_message))
    else:
        messages.warning(request, _("There was nothing to do. Someone did this already."))
    gone = not Subscriber.objects.filter(pk=reader).exists()
    return see_other(reverse("readers:list") if gone else back)
