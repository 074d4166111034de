"""The OpenAPI 3.1 document: ninja's, and what all operations share."""

from functools import cache
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from api.problem import MEDIA_TYPE
from newsletter_site.api.api import api

_DESCRIPTIONS = {
    "200": "Done, or found.",
    "201": "Made.",
    "400": "The call cannot be read, or something in it has to be put right.",
    "401": "There is no token, or none that is accepted.",
    "403": "The token was not made for this, or its person lacks the permission.",
    "404": "There is nothing of this name.",
    "409": "It is not in a state for that, or the same call is still at work.",
    "410": "It is not kept any more.",
    "413": "The body is too large.",
    "415": "The body is of a kind that is not taken here.",
    "422": "The key was used before, for a call with other content.",
    "503": "It cannot be done at this moment.",
}

_TEXT = {"type": "string"}
_HEADERS: dict[str, Any] = {
    "201": {"Location": {"schema": _TEXT, "description": "What was made.", "required": True}},
    "401": {"WWW-Authenticate": {"schema": _TEXT, "required": True}},
    "409": {
        "Retry-After": {
            "schema": _TEXT | {"pattern": "^[0-9]+$"},
            "description": "Seconds, where the same call is still at work.",
        }
    },
}

# Of what an operation creates: the parameter and value that name it, the operations that take it.
_LINKS = {
    "publishIssue": (
        "issue",
        "$response.body#/issue",
        ("publishVersion", "issueStatus", "listCopies"),
    ),
    "addReader": ("reader", "$response.body#/reader", ("getReader", "exportReader", "actOnReader")),
    "uploadImport": (
        "import_id",
        "$response.body#/import",
        ("getImport", "importRejects", "decideImport", "dropImport"),
    ),
}


# Without the exemption a POST would get 403 for a missing CSRF token, and not 405.
@csrf_exempt
@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """Serve the document, without a token."""
    return HttpResponse(orjson.dumps(document()), content_type="application/json")


@cache
def document() -> dict[str, Any]:
    """Return the document as a value."""
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
            parameter, value, targets = _LINKS[operation["operationId"]]
            response["links"] = {
                name: {"operationId": name, "parameters": {parameter: value}} for name in targets
            }
        if int(status) >= 400:
            response["content"] = {MEDIA_TYPE: response["content"]["application/json"]}
