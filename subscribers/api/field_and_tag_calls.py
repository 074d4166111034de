"""API calls that list, add, change and delete the author's fields and tags."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Body, Router

from api.bearer import Bearer, get_caller
from api.idempotent_call import KEY_PARAMETER, run_call
from api.problem import CHANGE_STATUSES, problem_responses
from api.schema import json_response
from subscribers.api import field_and_tag_bodies as bodies
from subscribers.api import reader_scopes
from subscribers.api.field_and_tag_bodies import (
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


@fields.get("/", response={200: OwnFields, **problem_responses()}, summary="List fields")
def list_fields(request: HttpRequest) -> OwnFields:
    """List the author's own fields."""
    return bodies.all_fields()


@fields.post(
    "/",
    response={201: OwnField, **problem_responses(*CHANGE_STATUSES)},
    summary="Add a field",
    openapi_extra=KEY_PARAMETER,
)
def add_field(request: HttpRequest, field: Body[NewField]) -> HttpResponse:
    """Add a field. Its key is a merge field in letters, and cannot be changed later."""

    def work(_: str) -> HttpResponse:
        added = bodies.add_field(field, _caller(request))
        url = reverse("api:field", args=[added.key])
        return json_response(added, 201, url=url, created=True)

    return run_call(request, field, work)


@fields.get(
    "/{slug:key}/",
    response={200: OwnField, **problem_responses(404)},
    summary="One field",
    url_name="field",
)
def get_field(request: HttpRequest, key: str) -> OwnField:
    """Return one field."""
    return bodies.one_field(key)


@fields.patch(
    "/{slug:key}/",
    response={200: OwnField, **problem_responses(404, *CHANGE_STATUSES)},
    summary="Edit a field",
    openapi_extra=KEY_PARAMETER,
)
def edit_field(request: HttpRequest, key: str, changes: Body[FieldEdit]) -> HttpResponse:
    """Change the given values."""

    def work(_: str) -> HttpResponse:
        return json_response(bodies.edit_field(key, changes, _caller(request)))

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
        return json_response(bodies.delete_field(key, _caller(request)))

    return run_call(request, None, work)


@tags.get("/", response={200: AllTags, **problem_responses()}, summary="List tags")
def list_tags(request: HttpRequest) -> AllTags:
    """List the tags."""
    return bodies.all_tags()


@tags.post(
    "/",
    response={201: OneTag, **problem_responses(*CHANGE_STATUSES)},
    summary="Add a tag",
    openapi_extra=KEY_PARAMETER,
)
def add_tag(request: HttpRequest, tag: Body[NewTag]) -> HttpResponse:
    """Add a tag, which no reader has yet."""

    def work(_: str) -> HttpResponse:
        added = bodies.add_tag(tag, _caller(request))
        return json_response(added, 201, url=reverse("api:tag", args=[added.tag]), created=True)

    return run_call(request, tag, work)


@tags.get(
    "/{int:tag}/",
    response={200: OneTag, **problem_responses(404)},
    summary="One tag",
    url_name="tag",
)
def get_tag(request: HttpRequest, tag: int) -> OneTag:
    """Return one tag."""
    return bodies.one_tag(tag)


@tags.patch(
    "/{int:tag}/",
    response={200: OneTag, **problem_responses(404, *CHANGE_STATUSES)},
    summary="Edit a tag",
    openapi_extra=KEY_PARAMETER,
)
def edit_tag(request: HttpRequest, tag: int, changes: Body[TagEdit]) -> HttpResponse:
    """Change the given values. The readers of the tag stay the same."""

    def work(_: str) -> HttpResponse:
        return json_response(bodies.edit_tag(tag, changes, _caller(request)))

    return run_call(request, changes, work)


@tags.delete(
    "/{int:tag}/",
    response={200: Deleted, **problem_responses(404, *CHANGE_STATUSES)},
    summary="Delete a tag",
    openapi_extra=KEY_PARAMETER,
)
def delete_tag(request: HttpRequest, tag: int) -> HttpResponse:
    """Delete a tag. Workers take it off the readers.

    It is refused while an open draft or a scheduled issue uses the tag.
    """

    def work(_: str) -> HttpResponse:
        return json_response(bodies.delete_tag(tag, _caller(request)))

    return run_call(request, None, work)


def _caller(request: HttpRequest) -> uuid.UUID:
    by: uuid.UUID = get_caller(request).user.pk
    return by
