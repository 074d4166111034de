"""The pages of the settings that change the author's fields and the tags."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.db.models.functions import Lower
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from delivery.humanise import counted
from delivery.models import Newsletter
from subscribers.desk_frame import desk_page, may_manage_readers, may_see_settings, user_id_of
from subscribers.field_and_tag_settings import change_fields_and_tags
from subscribers.field_and_tag_settings.field_and_tag_forms import (
    FieldForm,
    TagForm,
    in_use_sentence,
    limit_sentence,
)
from subscribers.links.see_other import see_other
from subscribers.models import ReaderFieldDefinition, SavedFilter, Subscriber, Tag
from subscribers.models.fields_and_tags import MOST_FIELDS
from subscribers.reader_permissions import MANAGE

SETTINGS = "readers:settings"


@may_see_settings
@require_safe
def settings_page(request: HttpRequest) -> HttpResponse:
    """Show the settings that the user may change; `?count` counts readers."""
    newsletter = Newsletter.objects.get_current()
    language = dict(settings.LANGUAGES).get(newsletter.language, newsletter.language)
    shown: dict[str, Any] = {"newsletter": newsletter, "language": language}
    if not request.user.has_perm(MANAGE):
        return desk_page(request, "subscribers/field_and_tag_settings/settings.html", shown)
    fields = list(ReaderFieldDefinition.objects.order_by("position"))
    tags = list(Tag.objects.order_by(Lower("name")))
    # Count readers only on request, because counting reads the rows of all readers.
    is_counted = "count" in request.GET
    counts = change_fields_and_tags.count_readers() if is_counted else {}
    context = {
        **shown,
        "is_counted": is_counted,
        "fields": [(field, counts.get(("field", field.key), 0)) for field in fields],
        "tags": [(tag, counts.get(("tag", str(tag.pk)), 0)) for tag in tags],
        "most_fields": MOST_FIELDS,
        "may_add_field": len(fields) < MOST_FIELDS,
    }
    return desk_page(request, "subscribers/field_and_tag_settings/settings.html", context)


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def add_field(request: HttpRequest) -> HttpResponse:
    """Show the form of a new field; add the field for POST."""
    form = FieldForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        field = form.save(commit=False)
        if change_fields_and_tags.add_field(field, user_id_of(request)):
            sentence = _("You can write {{{{ {key} }}}} in letters now.")
            messages.success(request, sentence.format(key=field.key))
            return see_other(reverse(SETTINGS))
        form = FieldForm(request.POST)
        if form.is_valid():
            form.add_error(None, limit_sentence())
    return _form_page(request, form, _("Add a field"))


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def edit_field(request: HttpRequest, key: str) -> HttpResponse:
    """Show the form of a field; save it for POST."""
    field = _field_or_404(key)
    form = FieldForm(request.POST if request.method == "POST" else None, instance=field)
    if _is_saved(request, form):
        return see_other(reverse(SETTINGS))
    return _form_page(
        request, form, f"{{{{ {field.key} }}}}", reverse("readers:delete_field", args=[key])
    )


@may_manage_readers
@require_POST
def move_field(request: HttpRequest, key: str) -> HttpResponse:
    """Move a field up or down in the order of forms and files."""
    change_fields_and_tags.move_field(key, -1 if request.POST.get("to") == "up" else 1)
    return see_other(reverse(SETTINGS))


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def delete_field(request: HttpRequest, key: str) -> HttpResponse:
    """For GET, ask whether to delete a field and its values; for POST, delete them."""
    if request.method == "POST":
        if change_fields_and_tags.delete_field(key, user_id_of(request)):
            messages.success(request, _("The field is deleted. Workers remove its values."))
        return see_other(reverse(SETTINGS))
    field, readers = _field_or_404(key), Subscriber.objects.filter(fields__has_key=key).count()
    question = counted(
        "{n} reader has a value for this field. Homing removes the value. Sent letters do not"
        " change. Letters that still use the field show their fallback. You cannot publish "
        "them until you take the field out.",
        "{n} readers have a value for this field. Homing removes the values. Sent letters do "
        "not change. Letters that still use the field show their fallback. You cannot publish"
        " them until you take the field out.",
        readers,
    )
    return _delete_page(request, _("Delete the field “{name}”?").format(name=field.label), question)


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def edit_tag(request: HttpRequest, tag: int | None = None) -> HttpResponse:
    """Show the form of a tag, with its number of readers; save it for POST."""
    found = None if tag is None else _tag_or_404(tag)
    form = TagForm(request.POST if request.method == "POST" else None, instance=found)
    if _is_saved(request, form, "edit" if found else "add"):
        return see_other(reverse(SETTINGS))
    if found is None:
        return _form_page(request, form, _("Add a tag"))
    readers = Subscriber.objects.filter(tags__contains=[tag]).count()
    note = counted("{n} reader has this tag.", "{n} readers have this tag.", readers)
    delete = reverse("readers:delete_tag", args=[tag])
    return _form_page(request, form, found.name, delete, note)


@may_manage_readers
@require_http_methods(["GET", "HEAD", "POST"])
def delete_tag(request: HttpRequest, tag: int) -> HttpResponse:
    """For GET, ask whether to delete a tag; for POST, delete it."""
    if request.method == "POST":
        try:
            if change_fields_and_tags.delete_tag(tag, user_id_of(request)):
                messages.success(request, _("The tag is deleted. Workers take it off the readers."))
        except change_fields_and_tags.TagInUseError as used:
            messages.warning(request, in_use_sentence(used))
        return see_other(reverse(SETTINGS))
    found, readers = _tag_or_404(tag), Subscriber.objects.filter(tags__contains=[tag]).count()
    question = counted(
        "The tag is taken off {n} reader. Published issues keep its name.",
        "The tag is taken off {n} readers. Published issues keep its name.",
        readers,
    )
    if SavedFilter.objects.filter(tag=tag).exists():
        question = " ".join([question, _("Saved filters by this tag are deleted too.")])
    return _delete_page(request, _("Delete the tag “{name}”?").format(name=found.name), question)


def _is_saved(request: HttpRequest, form: FieldForm | TagForm, code: str = "edit") -> bool:
    if not (form.is_bound and form.is_valid()):
        return False
    with transaction.atomic():
        if not form.is_saved():
            return False
        change_fields_and_tags.record_saved(code, form.instance, user_id_of(request))
    messages.success(request, _("Saved."))
    return True


def _form_page(
    request: HttpRequest, form: FieldForm | TagForm, heading: str, delete: str = "", note: str = ""
) -> HttpResponse:
    context = {"form": form, "heading": heading, "delete": delete, "note": note}
    return _settings_page(request, "settings_form", context)


def _delete_page(request: HttpRequest, heading: str, question: str) -> HttpResponse:
    context = {"heading": heading, "question": question}
    return _settings_page(request, "confirm_delete", context)


def _settings_page(request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
    context |= {"back": reverse(SETTINGS), "place": _("Settings")}
    return desk_page(request, f"subscribers/field_and_tag_settings/{name}.html", context)


def _field_or_404(key: str) -> ReaderFieldDefinition:
    field = ReaderFieldDefinition.objects.filter(key=key).first()
    if field is None:
        raise Http404(_("There is no field with this name."))
    return field


def _tag_or_404(tag: int) -> Tag:
    found = Tag.objects.filter(pk=tag).first()
    if found is None:
        raise Http404(_("There is no tag with this number."))
    return found
