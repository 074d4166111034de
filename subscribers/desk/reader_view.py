"""The desk's pages about one reader: data, actions, adding and editing."""

from typing import TypeVar

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from delivery.interface import provider_name
from subscribers.data_requests.personal_data import load_personal_data
from subscribers.data_requests.personal_data_sentences import describe
from subscribers.desk.add_or_edit_reader import (
    Source,
    add_reader,
    correct_address,
    edit_reader,
    why_address_stays,
)
from subscribers.desk.corrected_addresses import load_other_addresses
from subscribers.desk.reader_actions import ACTIONS, OLD_NAMES, applicable_actions, perform_action
from subscribers.desk.reader_form import AddForm, AddressForm, EditForm, ReasonForm
from subscribers.desk.reader_headline import reader_headline
from subscribers.desk_frame import desk_page, may_manage_readers, user_id_of
from subscribers.links.see_other import see_other
from subscribers.models import Subscriber
from subscribers.record_activity import record_reader_activity
from subscribers.refusal_sentences import InputRefusal, sentence_of

Row = TypeVar("Row")


def _found(reader: Row | None) -> Row:
    if reader is None:
        raise Http404(_("There is no reader with this number."))
    return reader


def _reader_or_404(reader: int) -> Subscriber:
    return _found(Subscriber.objects.filter(pk=reader).first())


@may_manage_readers
@require_safe
def show_reader(request: HttpRequest, reader: int) -> HttpResponse:
    """Show the data of one reader, with a link for each action."""
    data, found = _found(load_personal_data(reader)), _reader_or_404(reader)
    context = {
        "data": data,
        "may_correct": why_address_stays(found) is None,
        "other_addresses": load_other_addresses(data.consent),
        "words": describe(data),
        "headline": reader_headline(data),
        "actions": applicable_actions(found),
    }
    return desk_page(request, "subscribers/desk/one_reader.html", context)


@may_manage_readers
@require_safe
def reader_file(request: HttpRequest, reader: int) -> HttpResponse:
    """Send a reader's data as a file that an author can pass on to the reader."""
    data = _found(load_personal_data(reader))
    record_reader_activity("download_data", user_id_of(request), reader)
    return data.as_file()


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def act_on_reader(request: HttpRequest, reader: int, name: str) -> HttpResponse:
    """For GET, ask for confirmation; for POST, perform the action once."""
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
        context["question"] = str(action.question).format(provider=provider_name())
        status = 422 if is_invalid else 200
        return desk_page(request, "subscribers/desk/reader_action.html", context, status=status)
    reason = form.cleaned_data["reason"] if form else ""
    if perform_action(action, reader, user_id_of(request), reason):
        messages.success(request, str(action.done_message).format(provider=provider_name()))
    else:
        messages.warning(request, _("There was nothing to do. Someone did this already."))
    gone = not Subscriber.objects.filter(pk=reader).exists()
    return see_other(reverse("readers:list") if gone else back)


def _url(reader: int) -> str:
    return reverse("readers:reader", args=[reader])


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Show the form for a new reader; add the reader for POST."""
    form = AddForm(request.POST if request.method == "POST" else None)
    known = None
    if form.is_bound and form.is_valid():
        added = add_reader(
            form.cleaned_data["email"],
            form.values,
            by=request.user,
            consent=form.cleaned_data["where"],
            tags=form.tags,
            source=Source.DESK,
        )
        known = added.reader
        if added.result == "added" and known is not None:
            messages.success(request, _added_sentence(known))
            return see_other(_url(known.pk))
        is_known = _("This reader is already on the list. Nothing changed.")
        form.add_error("email", sentence_of(added.reason) if added.reason else is_known)
    context = {"form": form, "known": known}
    return desk_page(request, "subscribers/desk/add_reader.html", context)


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, reader: int) -> HttpResponse:
    """Show the fields and tags of a reader as a form; save them for POST."""
    found = _reader_or_404(reader)
    form = EditForm(request.POST if request.method == "POST" else None, found)
    changed = False
    if form.is_bound and form.is_valid():
        by, seen = user_id_of(request), form.cleaned_data["seen"]
        result = edit_reader(reader, form.values, form.tags, by=by, seen=seen)
        if result in ("saved", "unchanged"):
            is_saved = result == "saved"
            messages.success(request, _("Saved.") if is_saved else _("Nothing changed."))
            return see_other(_url(reader))
        found, changed = _reader_or_404(reader), True
        form = EditForm(reader=found)
    context = {"form": form, "reader": found, "changed": changed}
    return desk_page(request, "subscribers/desk/edit_reader.html", context)


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def correct(request: HttpRequest, reader: int) -> HttpResponse:
    """Ask for the correct address; move the reader to it for POST."""
    found, known = _reader_or_404(reader), None
    form = AddressForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        moved = correct_address(reader, form.cleaned_data["email"], by=user_id_of(request))
        if not isinstance(moved, InputRefusal):
            messages.success(
                request,
                _(
                    "The address was corrected. Homing sends a confirmation email to it. The old "
                    "address gets nothing more."
                ),
            )
            return see_other(_url(moved.pk))
        key = form.cleaned_data["email"].lower()
        known = Subscriber.objects.filter(email_key=key).exclude(pk=reader).first()
        form.add_error("email", sentence_of(moved))
    stays = why_address_stays(found)
    context = {"form": form, "reader": found, "known": known, "days": settings.PENDING_EXPIRES_DAYS}
    context["why_not"] = sentence_of(stays) if stays else ""
    return desk_page(request, "subscribers/desk/correct_address.html", context)


def _added_sentence(reader: Subscriber) -> str:
    if reader.state == Subscriber.State.CONFIRMED:
        return _("Added. The reader gets letters from now on.")
    return _("Added. Homing sends a confirmation email. Letters follow once the reader confirms.")
