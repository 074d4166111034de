"""API calls that list, add, change and delete the author's fields and tags."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Body, Router

from api.bearer import Bearer, get_caller
from api.idempotent_call import changing, once
from api.problem import answers
from api.schema import json_response
from subscribers.api import field_and_tag_definitions as bodies
from subscribers.api import reader_scopes
from subscribers.api.field_and_tag_definitions import (
    AllTags,
    Deleted,
    FieldEdit,
    NewField,
    NewTag,
    OneTag,
    OwnField,
    OwnFields,
    TagEdit,
)

fields = Router(tags=["Fields of readers"], auth=Bearer(reader_scopes.READERS))
tags = Router(tags=["Tags"], auth=Bearer(reader_scopes.READERS))


@fields.get("/", response=answers(OwnFields), summary="List fields")
def list_fields(request: HttpRequest) -> OwnFields:
    """List the author's own fields."""
    return bodies.all_fields()


@fields.post("/", summary="Add a field", **changing({201: OwnField}))
@once
def add_field(request: HttpRequest, field: Body[NewField]) -> HttpResponse:
    """Add a field, whose key is a merge field in letters and cannot be changed later."""
    added = bodies.add_field(field, get_caller(request).user.pk)
    return json_response(added, url=reverse("api:field", args=[added.key]), created=True)


@fields.get("/{slug:key}/", response=answers(OwnField, 404), summary="One field", url_name="field")
def get_field(request: HttpRequest, key: str) -> OwnField:
    """Return one field."""
    return bodies.one_field(key)


@fields.patch("/{slug:key}/", summary="Edit a field", **changing({200: OwnField}, 404))
@once
def edit_field(request: HttpRequest, key: str, changes: Body[FieldEdit]) -> HttpResponse:
    """Change the given values."""
    return json_response(bodies.edit_field(key, changes, get_caller(request).user.pk))


@fields.delete("/{slug:key}/", summary="Delete a field", **changing({200: Deleted}, 404))
@once
def delete_field(request: HttpRequest, key: str) -> HttpResponse:
    """Delete a field. Workers remove the field's values; sent letters do not change."""
    return json_response(bodies.delete_field(key, get_caller(request).user.pk))


@tags.get("/", response=answers(AllTags), summary="List tags")
def list_tags(request: HttpRequest) -> AllTags:
    """List the tags."""
    return bodies.all_tags()


@tags.post("/", summary="Add a tag", **changing({201: OneTag}))
@once
def add_tag(request: HttpRequest, tag: Body[NewTag]) -> HttpResponse:
    """Add a tag, which no reader has yet."""
    added = bodies.add_tag(tag, get_caller(request).user.pk)
    return json_response(added, url=reverse("api:tag", args=[added.tag]), created=True)


@tags.get("/{int:tag}/", response=answers(OneTag, 404), summary="One tag", url_name="tag")
def get_tag(request: HttpRequest, tag: int) -> OneTag:
    """Return one tag."""
    return bodies.one_tag(tag)


@tags.patch("/{int:tag}/", summary="Edit a tag", **changing({200: OneTag}, 404))
@once
def edit_tag(request: HttpRequest, tag: int, changes: Body[TagEdit]) -> HttpResponse:
    """Change the given values. The readers of the tag stay the same."""
    return json_response(bodies.edit_tag(tag, changes, get_caller(request).user.pk))


@tags.delete("/{int:tag}/", summary="Delete a tag", **changing({200: Deleted}, 404))
@once
def delete_tag(request: HttpRequest, tag: int) -> HttpResponse:
    """Delete a tag. Workers take the tag off the readers.

    The call is refused while an open draft or a scheduled issue uses the tag.
    """
    return json_response(bodies.delete_tag(tag, get_caller(request).user.pk))
