"""API calls about the author's fields and tags.

Commands use the functions of this module too.
"""

import uuid
from typing import Any

from django.db import transaction
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Body, Field, Router

from api.bearer import Bearer, get_caller
from api.idempotent_call import changing, once
from api.problem import FieldError, ProblemError, ProblemType, answers, first_of
from api.schema import RequestBody, ResponseBody, json_response
from subscribers.api import reader_scopes
from subscribers.field_and_tag_settings import change_fields_and_tags
from subscribers.field_and_tag_settings.field_and_tag_forms import (
    FieldForm,
    TagForm,
    in_use_sentence,
    limit_sentence,
)
from subscribers.models import ReaderFieldDefinition, Tag
from subscribers.models.fields_and_tags import (
    LONGEST_DESCRIPTION,
    LONGEST_KEY,
    LONGEST_LABEL,
    LONGEST_TAG,
)

fields = Router(tags=["Fields of readers"], auth=Bearer(reader_scopes.READERS))
tags = Router(tags=["Tags"], auth=Bearer(reader_scopes.READERS))

NO_FIELD = "There is no field with this key."
NO_TAG = "There is no tag with this number."


# The length is only documented here. For calls and pages, the same forms check the length, so that
# both refuse a text with the same sentence.
def _at_most(length: int, example: str, default: str | None = "", words: str = "") -> Any:
    return Field(
        default=default,
        examples=[example],
        description=words or None,
        json_schema_extra={"maxLength": length},
    )


class NewField(RequestBody):
    """A field to add after the others."""

    label: str = _at_most(LONGEST_LABEL, "City", ..., "What readers see on the form.")  # type: ignore[arg-type]
    key: str = _at_most(LONGEST_KEY, "city", words="The merge field; by default from the label.")
    fallback: str = _at_most(256, "your town", words="What readers without a value see.")
    on_form: bool = Field(
        default=False, description="Whether new readers are asked for it when they confirm."
    )


class FieldEdit(RequestBody):
    """Changes of a field. Values that are left out or null stay as they are."""

    label: str | None = _at_most(LONGEST_LABEL, "Home town", None)
    fallback: str | None = _at_most(256, "your town", None)
    on_form: bool | None = Field(default=None, examples=[True])


class OwnField(ResponseBody):
    """A field of the author's own."""

    key: str = Field(examples=["city"])
    label: str = Field(examples=["City"])
    fallback: str = Field(examples=["your town"])
    on_form: bool


class OwnFields(ResponseBody):
    """The author's own fields, in the order of forms and files."""

    fields: list[OwnField]


class NewTag(RequestBody):
    """A tag to add."""

    name: str = _at_most(LONGEST_TAG, "Birds", ...)  # type: ignore[arg-type]
    is_topic: bool = Field(default=False, description="Whether readers see it and can choose it.")
    description: str = _at_most(LONGEST_DESCRIPTION, "Every Monday", words="For readers.")


class TagEdit(RequestBody):
    """Changes of a tag. Values that are left out or null stay as they are."""

    name: str | None = _at_most(LONGEST_TAG, "Birds and fish", None)
    is_topic: bool | None = Field(default=None, examples=[True])
    description: str | None = _at_most(LONGEST_DESCRIPTION, "Every Monday", None)


class OneTag(ResponseBody):
    """A tag, which is a topic if readers see it and can choose it."""

    tag: int = Field(examples=[3], description="Its number.")
    name: str = Field(examples=["Birds"])
    is_topic: bool
    description: str = Field(examples=["Every Monday"])


class AllTags(ResponseBody):
    """The tags in alphabetical order."""

    tags: list[OneTag]


class Deleted(ResponseBody):
    """A deleted field or tag. Workers remove it from the readers."""

    deleted: bool


@fields.get("/", response=answers(OwnFields), summary="List fields")
def list_fields(request: HttpRequest) -> OwnFields:
    """List the author's own fields."""
    return all_fields()


@fields.post("/", summary="Add a field", **changing({201: OwnField}))
@once
def add_field(request: HttpRequest, field: Body[NewField]) -> HttpResponse:
    """Add a field, whose key is a merge field in letters and cannot be changed later."""
    added = create_field(field, get_caller(request).user.pk)
    return json_response(added, url=reverse("api:field", args=[added.key]), created=True)


@fields.get("/{slug:key}/", response=answers(OwnField, 404), summary="One field", url_name="field")
def get_field(request: HttpRequest, key: str) -> OwnField:
    """Return one field."""
    return _field(first_of(ReaderFieldDefinition.objects.filter(key=key), NO_FIELD))


@fields.patch("/{slug:key}/", summary="Edit a field", **changing({200: OwnField}, 404))
@once
def edit_field(request: HttpRequest, key: str, changes: Body[FieldEdit]) -> HttpResponse:
    """Change the given values."""
    return json_response(change_field(key, changes, get_caller(request).user.pk))


@fields.delete("/{slug:key}/", summary="Delete a field", **changing({200: Deleted}, 404))
@once
def delete_field(request: HttpRequest, key: str) -> HttpResponse:
    """Delete a field. Workers remove the field's values; sent letters do not change."""
    return json_response(remove_field(key, get_caller(request).user.pk))


@tags.get("/", response=answers(AllTags), summary="List tags")
def list_tags(request: HttpRequest) -> AllTags:
    """List the tags."""
    return all_tags()


@tags.post("/", summary="Add a tag", **changing({201: OneTag}))
@once
def add_tag(request: HttpRequest, tag: Body[NewTag]) -> HttpResponse:
    """Add a tag, which no reader has yet."""
    added = create_tag(tag, get_caller(request).user.pk)
    return json_response(added, url=reverse("api:tag", args=[added.tag]), created=True)


@tags.get("/{int:tag}/", response=answers(OneTag, 404), summary="One tag", url_name="tag")
def get_tag(request: HttpRequest, tag: int) -> OneTag:
    """Return one tag."""
    return _tag(first_of(Tag.objects.filter(pk=tag), NO_TAG))


@tags.patch("/{int:tag}/", summary="Edit a tag", **changing({200: OneTag}, 404))
@once
def edit_tag(request: HttpRequest, tag: int, changes: Body[TagEdit]) -> HttpResponse:
    """Change the given values. The readers of the tag stay the same."""
    return json_response(change_tag(tag, changes, get_caller(request).user.pk))


@tags.delete("/{int:tag}/", summary="Delete a tag", **changing({200: Deleted}, 404))
@once
def delete_tag(request: HttpRequest, tag: int) -> HttpResponse:
    """Delete a tag. Workers take the tag off the readers.

    The call is refused while an open draft or a scheduled issue uses the tag.
    """
    return json_response(remove_tag(tag, get_caller(request).user.pk))


def all_fields() -> OwnFields:
    """List the author's own fields."""
    return OwnFields(
        fields=[_field(each) for each in ReaderFieldDefinition.objects.order_by("position")]
    )


def create_field(new: NewField, by: uuid.UUID) -> OwnField:
    """Add a field, or raise `ProblemError`."""
    form = FieldForm(new.model_dump())
    _refuse_errors(form)
    added = form.save(commit=False)
    if not change_fields_and_tags.add_field(added, by):
        _refuse_errors(FieldForm(new.model_dump()))
        raise ProblemError(ProblemType.NOT_NOW, limit_sentence())
    return _field(added)


def change_field(key: str, changes: FieldEdit, by: uuid.UUID) -> OwnField:
    """Change the given values of a field, or raise `ProblemError`."""
    field = first_of(ReaderFieldDefinition.objects.filter(key=key), NO_FIELD)
    now = _field(field).model_dump(exclude={"key"})
    form = FieldForm(now | changes.model_dump(exclude_none=True), field)
    return _field(_saved(form, "edit", by))


def remove_field(key: str, by: uuid.UUID) -> Deleted:
    """Delete a field, or raise `ProblemError`."""
    if not change_fields_and_tags.delete_field(key, by):
        raise ProblemError(ProblemType.NOT_FOUND, NO_FIELD)
    return Deleted(deleted=True)


def all_tags() -> AllTags:
    """List the tags."""
    return AllTags(tags=[_tag(each) for each in Tag.objects.order_by(Lower("name"))])


def create_tag(new: NewTag, by: uuid.UUID) -> OneTag:
    """Add a tag, or raise `ProblemError`."""
    return _tag(_saved(TagForm(new.model_dump()), "add", by))


def change_tag(tag: int, changes: TagEdit, by: uuid.UUID) -> OneTag:
    """Change the given values of a tag, or raise `ProblemError`."""
    found = first_of(Tag.objects.filter(pk=tag), NO_TAG)
    now = _tag(found).model_dump(exclude={"tag"})
    return _tag(_saved(TagForm(now | changes.model_dump(exclude_none=True), found), "edit", by))


def remove_tag(tag: int, by: uuid.UUID) -> Deleted:
    """Delete a tag; raise `ProblemError` if it is unknown or an issue needs it."""
    try:
        if not change_fields_and_tags.delete_tag(tag, by):
            raise ProblemError(ProblemType.NOT_FOUND, NO_TAG)
    except change_fields_and_tags.TagInUseError as used:
        raise ProblemError(ProblemType.NOT_NOW, in_use_sentence(used)) from None
    return Deleted(deleted=True)


def _refuse_errors(form: FieldForm | TagForm) -> None:
    """Raise `ProblemError` with the sentences of the form."""
    errors = [FieldError(name, str(text)) for name, found in form.errors.items() for text in found]
    if errors:
        detail = f"“{errors[0].field}”: {errors[0].detail}"
        raise ProblemError(ProblemType.NOT_VALID, detail, errors=errors)


@transaction.atomic
def _saved(form: FieldForm | TagForm, code: str, by: uuid.UUID) -> Any:
    if not (form.is_valid() and form.is_saved()):
        _refuse_errors(form)
    change_fields_and_tags.record_saved(code, form.instance, by)
    return form.instance


def _field(field: ReaderFieldDefinition) -> OwnField:
    return OwnField(
        key=field.key, label=field.label, fallback=field.fallback, on_form=field.on_form
    )


def _tag(tag: Tag) -> OneTag:
    return OneTag(tag=tag.pk, name=tag.name, is_topic=tag.is_topic, description=tag.description)
