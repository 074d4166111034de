"""API calls that list, add, change and delete the author's fields and tags."""

from typing import Any

from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Body, Field, Router

from api.bearer import Bearer, get_caller
from api.idempotent_call import KEY_PARAMETER, run_call
from api.problem import CHANGE_STATUSES, FieldError, ProblemError, ProblemType, problem_responses
from api.schema import RequestBody, ResponseBody, json_response
from subscribers.api import scopes
from subscribers.models import ReaderFieldDefinition, Tag
from subscribers.models.fields_and_tags import (
    LONGEST_DESCRIPTION,
    LONGEST_KEY,
    LONGEST_LABEL,
    LONGEST_TAG,
)
from subscribers.settings import change_fields_and_tags
from subscribers.settings.field_and_tag_forms import FieldForm, TagForm
from subscribers.settings.field_and_tag_sentences import in_use_sentence, limit_sentence

fields = Router(tags=["Fields of readers"], auth=Bearer(scopes.READERS))
tags = Router(tags=["Tags"], auth=Bearer(scopes.READERS))


# The forms of the settings page check the lengths, so that their sentences are the same.
def _at_most(length: int, example: str, default: str | None = "", words: str = "") -> Any:
    return Field(
        default=default,
        examples=[example],
        description=words or None,
        json_schema_extra={"maxLength": length},
    )


class NewField(RequestBody):
    """A field to add behind the others."""

    label: str = _at_most(LONGEST_LABEL, "City", ..., "What readers see on the form.")  # type: ignore[arg-type]
    key: str = _at_most(LONGEST_KEY, "city", words="The merge field; by default from the label.")
    fallback: str = _at_most(256, "your town", words="What readers without a value see.")
    on_form: bool = Field(default=False, description="Whether the sign-up form asks for it.")


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


@fields.get("/", response={200: OwnFields, **problem_responses()}, summary="List fields")
def list_fields(request: HttpRequest) -> OwnFields:
    """List the author's own fields."""
    return OwnFields(
        fields=[_field(each) for each in ReaderFieldDefinition.objects.order_by("position")]
    )


@fields.post(
    "/",
    response={201: OwnField, **problem_responses(*CHANGE_STATUSES)},
    summary="Add a field",
    openapi_extra=KEY_PARAMETER,
)
def add_field(request: HttpRequest, field: Body[NewField]) -> HttpResponse:
    """Add a field. Its key is a merge field in letters, and cannot be changed later."""

    def work(_: str) -> HttpResponse:
        form = FieldForm(field.model_dump())
        _refuse_errors(form)
        added = form.save(commit=False)
        if not change_fields_and_tags.add_field(added, get_caller(request).user.pk):
            _refuse_errors(FieldForm(field.model_dump()))
            raise ProblemError(ProblemType.NOT_NOW, limit_sentence())
        url = reverse("api:field", args=[added.key])
        return json_response(_field(added), 201, url=url, created=True)

    return run_call(request, field, work)


@fields.get(
    "/{slug:key}/",
    response={200: OwnField, **problem_responses(404)},
    summary="One field",
    url_name="field",
)
def get_field(request: HttpRequest, key: str) -> OwnField:
    """Return one field."""
    return _field(_named_field(key))


@fields.patch(
    "/{slug:key}/",
    response={200: OwnField, **problem_responses(404, *CHANGE_STATUSES)},
    summary="Edit a field",
    openapi_extra=KEY_PARAMETER,
)
def edit_field(request: HttpRequest, key: str, changes: Body[FieldEdit]) -> HttpResponse:
    """Write the given values."""

    def work(_: str) -> HttpResponse:
        field = _named_field(key)
        now = _field(field).model_dump(exclude={"key"})
        form = FieldForm(now | changes.model_dump(exclude_none=True), field)
        return json_response(_field(_saved(request, form, "edit")))

    return run_call(request, changes, work)


@fields.delete(
    "/{slug:key}/",
    response={200: Deleted, **problem_responses(404, *CHANGE_STATUSES)},
    summary="Delete a field",
    openapi_extra=KEY_PARAMETER,
)
def delete_field(request: HttpRequest, key: str) -> HttpResponse:
    """Delete a field. Workers remove its values. Letters that were sent stay."""

    def work(_: str) -> HttpResponse:
        if not change_fields_and_tags.delete_field(key, get_caller(request).user.pk):
            raise _no_field()
        return json_response(Deleted(deleted=True))

    return run_call(request, None, work)


@tags.get("/", response={200: AllTags, **problem_responses()}, summary="List tags")
def list_tags(request: HttpRequest) -> AllTags:
    """List the tags."""
    return AllTags(tags=[_tag(each) for each in Tag.objects.order_by(Lower("name"))])


@tags.post(
    "/",
    response={201: OneTag, **problem_responses(*CHANGE_STATUSES)},
    summary="Add a tag",
    openapi_extra=KEY_PARAMETER,
)
def add_tag(request: HttpRequest, tag: Body[NewTag]) -> HttpResponse:
    """Add a tag, which no reader has yet."""

    def work(_: str) -> HttpResponse:
        added = _saved(request, TagForm(tag.model_dump()), "add")
        url = reverse("api:tag", args=[added.pk])
        return json_response(_tag(added), 201, url=url, created=True)

    return run_call(request, tag, work)


@tags.get(
    "/{int:tag}/",
    response={200: OneTag, **problem_responses(404)},
    summary="One tag",
    url_name="tag",
)
def get_tag(request: HttpRequest, tag: int) -> OneTag:
    """Return one tag."""
    return _tag(_named_tag(tag))


@tags.patch(
    "/{int:tag}/",
    response={200: OneTag, **problem_responses(404, *CHANGE_STATUSES)},
    summary="Edit a tag",
    openapi_extra=KEY_PARAMETER,
)
def edit_tag(request: HttpRequest, tag: int, changes: Body[TagEdit]) -> HttpResponse:
    """Write the given values. The readers of the tag stay the same."""

    def work(_: str) -> HttpResponse:
        found = _named_tag(tag)
        now = _tag(found).model_dump(exclude={"tag"})
        form = TagForm(now | changes.model_dump(exclude_none=True), found)
        return json_response(_tag(_saved(request, form, "edit")))

    return run_call(request, changes, work)


@tags.delete(
    "/{int:tag}/",
    response={200: Deleted, **problem_responses(404, *CHANGE_STATUSES)},
    summary="Delete a tag",
    openapi_extra=KEY_PARAMETER,
)
def delete_tag(request: HttpRequest, tag: int) -> HttpResponse:
    """
    Delete a tag. Workers take it off the readers.

    It is refused while an open draft or a scheduled issue uses the tag.
    """

    def work(_: str) -> HttpResponse:
        try:
            if not change_fields_and_tags.delete_tag(tag, get_caller(request).user.pk):
                raise _no_tag()
        except change_fields_and_tags.TagInUseError as used:
            raise ProblemError(ProblemType.NOT_NOW, in_use_sentence(used)) from None
        return json_response(Deleted(deleted=True))

    return run_call(request, None, work)


def _refuse_errors(form: FieldForm | TagForm) -> None:
    """Raise `ProblemError` with the sentences of the form."""
    errors = [FieldError(name, str(text)) for name, found in form.errors.items() for text in found]
    if errors:
        detail = f"“{errors[0].field}”: {errors[0].detail}"
        raise ProblemError(ProblemType.NOT_VALID, detail, errors=errors)


def _saved(request: HttpRequest, form: FieldForm | TagForm, code: str) -> Any:
    _refuse_errors(form)
    saved = form.save()
    change_fields_and_tags.record_saved(code, saved, get_caller(request).user.pk)
    return saved


def _field(field: ReaderFieldDefinition) -> OwnField:
    return OwnField(
        key=field.key, label=field.label, fallback=field.fallback, on_form=field.on_form
    )


def _tag(tag: Tag) -> OneTag:
    return OneTag(tag=tag.pk, name=tag.name, is_topic=tag.is_topic, description=tag.description)


def _named_field(key: str) -> ReaderFieldDefinition:
    field = ReaderFieldDefinition.objects.filter(key=key).first()
    if field is None:
        raise _no_field()
    return field


def _named_tag(tag: int) -> Tag:
    found = Tag.objects.filter(pk=tag).first()
    if found is None:
        raise _no_tag()
    return found


def _no_field() -> ProblemError:
    return ProblemError(ProblemType.NOT_FOUND, "There is no field with this key.")


def _no_tag() -> ProblemError:
    return ProblemError(ProblemType.NOT_FOUND, "There is no tag with this number.")
