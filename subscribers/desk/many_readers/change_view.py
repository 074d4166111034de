"""The desk's pages that change many readers: question, start and progress."""

from typing import NamedTuple
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from subscribers.desk.many_readers.change_readers import (
    Selection,
    count_selected,
    run_at_once,
    start_change,
    stop_change,
)
from subscribers.desk.many_readers.change_sentences import progress_sentence, question
from subscribers.desk.reader_actions import OLD_NAMES
from subscribers.desk.reader_filter import LARGEST_ID, ReaderFilter, read_filter, read_number
from subscribers.desk.reader_form import ReasonForm
from subscribers.desk.reader_list import PAGE, SearchTookTooLongError
from subscribers.desk_frame import desk_page, may_manage_readers, user_id_of
from subscribers.links.see_other import see_other
from subscribers.models import ReaderChange, Tag

Action = ReaderChange.Action
HIGHEST_ID = 2**63 - 1


class _Choice(NamedTuple):
    """The chosen action and readers, or a sentence that says what the choice lacks."""

    action: str
    tag: Tag | None
    chosen: ReaderFilter
    ids: list[int]
    missing: str


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest) -> HttpResponse:
    """For GET, ask for confirmation of the change; for POST, start the change."""
    is_post = request.method == "POST"
    choice = _choice(request.POST if is_post else request.GET)
    back = reverse("readers:list") + choice.chosen.query()
    if choice.missing:
        messages.warning(request, choice.missing)
        return see_other(back)
    form = None
    if choice.action == Action.LIFT_BOUNCE:
        form = ReasonForm(request.POST if is_post else None)
    is_invalid = is_post and form is not None and not form.is_valid()
    is_confirmed = is_post and not is_invalid
    try:
        reason = form.cleaned_data["reason"] if form and is_confirmed else ""
        if is_confirmed and (started := _start(request, choice, reason)) is not None:
            run_at_once(started)
            return see_other(reverse("readers:changing", args=[started.pk]))
        number, up_to = count_selected(Selection(choice.chosen, choice.ids))
    except SearchTookTooLongError:
        messages.warning(request, _("The search takes too long. Choose fewer readers."))
        return see_other(back)
    if not number:
        messages.warning(request, _("No reader matches any more."))
        return see_other(back)
    which, tag = (choice.tag.pk, choice.tag.name) if choice.tag else ("", "")
    scope = "selected" if choice.ids else "found"
    hidden = {"do": choice.action, "which": which, "scope": scope, "key": uuid4()}
    context = {
        "words": question(choice.action, number, tag),
        "hidden": {**choice.chosen.parameters, **hidden, "number": number, "up_to": up_to},
        "ids": choice.ids,
        "back": back,
        "is_new_number": is_confirmed,
        "is_risk": choice.action not in (Action.TAG, Action.UNTAG, Action.LIFT_BOUNCE),
        "form": form,
    }
    status = 422 if is_invalid else 200
    return desk_page(request, "subscribers/desk/change.html", context, status=status)


@may_manage_readers
@require_safe
def changing(request: HttpRequest, change_id: int) -> HttpResponse:
    """Show the progress of a change, and its result."""
    found = _change_or_404(change_id)
    words = question(found.action, found.total, found.tag_name)
    context = {"task": found, "words": words, "sentence": progress_sentence(found)}
    return desk_page(request, "subscribers/desk/changing.html", context)


@may_manage_readers
@require_POST
def stop(request: HttpRequest, change_id: int) -> HttpResponse:
    """Stop a change; readers who were already changed stay changed."""
    stop_change(_change_or_404(change_id), user_id_of(request))
    return see_other(reverse("readers:changing", args=[change_id]))


def _change_or_404(change_id: int) -> ReaderChange:
    found = ReaderChange.objects.defer("readers").filter(pk=change_id).first()
    if found is None:
        raise Http404(_("There is no change with this number."))
    return found


def _choice(form: QueryDict) -> _Choice:
    posted = form.get("do", "")
    action = OLD_NAMES.get(posted, posted)
    chosen = read_filter({name: str(text) for name, text in form.items()})
    of_page = [read_number(text, HIGHEST_ID) for text in form.getlist("reader")[:PAGE]]
    is_selected = form.get("scope") != "found"
    ids = [one for one in of_page if one is not None] if is_selected else []
    tag, missing = None, ""
    if action not in Action.values:
        missing = _("Choose what to do with the readers.")
    elif is_selected and not ids:
        missing = _("Select the readers first.")
    elif action in (Action.TAG, Action.UNTAG):
        number = read_number(form.get("which", ""))
        tag = Tag.objects.filter(pk=number).first() if number is not None else None
        missing = "" if tag else _("Choose a tag.")
    return _Choice(action, tag, chosen, ids, missing)


class StartForm(forms.Form):
    """The form that starts a change: the number of readers, and the highest id."""

    key = forms.UUIDField()
    number = forms.IntegerField(min_value=1, max_value=LARGEST_ID)
    up_to = forms.IntegerField(min_value=1, max_value=HIGHEST_ID)


def _start(request: HttpRequest, choice: _Choice, reason: str) -> ReaderChange | None:
    form = StartForm(request.POST)
    if not form.is_valid():
        return None
    key, number, up_to = (form.cleaned_data[name] for name in ("key", "number", "up_to"))
    selection = Selection(choice.chosen, choice.ids, up_to)
    by = user_id_of(request)
    return start_change(key, choice.action, choice.tag, selection, number, by, reason=reason)
