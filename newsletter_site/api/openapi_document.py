"""Add parts that all operations share to ninja's OpenAPI 3.1 document."""

from functools import cache
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from api.problem import MEDIA_TYPE
from newsletter_site.api.mount_api import api

_DESCRIPTIONS = {
    "200": "Done, or found.",
    "201": "Created.",
    "400": "The request cannot be read, or a value in it is invalid.",
    "401": "The token is missing or not accepted.",
    "403": "The token lacks the scope, or its owner lacks the permission.",
    "404": "Not found.",
    "409": "Not possible in the current state, or the same call is still running.",
    "410": "No longer stored.",
    "413": "The body is too large.",
    "415": "The content type is not supported.",
    "422": "The key was used before, for a call with other content.",
    "503": "Not possible at the moment.",
}

_TEXT = {"type": "string"}
_HEADERS: dict[str, Any] = {
    "201": {"Location": {"schema": _TEXT, "description": "The new resource.", "required": True}},
    "401": {"WWW-Authenticate": {"schema": _TEXT, "required": True}},
    "409": {
        "Retry-After": {
            "schema": _TEXT | {"pattern": "^[0-9]+$"},
            "description": "Seconds, if the same call is still running.",
        }
    },
}

# The links of each operation that creates a resource: a parameter, and the operations that take
# this parameter. In the new resource, the value has the parameter's name, but without “_id”.
_LINKS = {
    "publishIssue": ("issue", ("publishVersion", "issueStatus", "listCopies")),
    "addReader": ("reader", ("getReader", "exportReader", "actOnReader")),
    "addField": ("key", ("getField", "editField", "deleteField")),
    "addTag": ("tag", ("getTag", "editTag", "deleteTag")),
    "uploadImport": ("import_id", ("getImport", "importRejects", "decideImport", "dropImport")),
}


# Without this exemption, a POST would get 403 for a missing CSRF token instead of 405.
@csrf_exempt
@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """Serve the OpenAPI document, for which callers need no token."""
    return HttpResponse(orjson.dumps(document()), content_type="application/json")


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    result: dict[str, Any] = orjson.loads(
        orjson.dumps(dict(api.get_openapi_schema()), option=orjson.OPT_NON_STR_KEYS)
    )
    for path in result["paths"].values():
        for operation in path.values():
            _complete(operation)
    return result


def _complete(operation: dict[str, Any]) -> None:
    if media_type := operation.pop("x-answers", ""):
        response = operation["responses"]["200"]
        response["content"] = {media_type: response["content"]["application/json"]}
    for status, response in operation["responses"].items():
        response["description"] = _DESCRIPTIONS[status]
        if status in _HEADERS:
            response["headers"] = _HEADERS[status]
        if status == "201" and operation["operationId"] in _LINKS:
            parameter, targets = _LINKS[operation["operationId"]]
            value = f"$response.body#/{parameter.removesuffix('_id')}"
            response["links"] = {
                name: {"operationId": name, "parameters": {parameter: value}} for name in targets
            }
        if int(status) >= 400:
            response["content"] = {MEDIA_TYPE: response["content"]["application/json"]}
