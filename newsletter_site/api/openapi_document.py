"""
The document of the API, OpenAPI 3.1: what ninja says of the operations, made whole.

Ninja knows bodies, queries and answers. Added here is what is the same for all: the kind of every
problem, the headers of answers, which scope an operation takes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from api.problem import MEDIA_TYPE
from newsletter_site.api.api import api

_WORDS = {
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


# Where what was made is to be found: what a call answers, and whom it names.
_LEADS_TO = {
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


# It takes no form: what is no GET is told so, and not that a token of forms is missing.
@csrf_exempt
@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """The document; it says nothing about anybody, so that no token is needed."""
    return HttpResponse(orjson.dumps(document()), content_type="application/json")


@cache
def document() -> dict[str, Any]:
    """The document as a value."""
    found: dict[str, Any] = orjson.loads(
        orjson.dumps(dict(api.get_openapi_schema()), option=orjson.OPT_NON_STR_KEYS)
    )
    for path in found["paths"].values():
        for operation in path.values():
            _complete(operation)
    return found


def _complete(operation: dict[str, Any]) -> None:
    answered_as = operation.pop("x-answers", "")
    if answered_as:
        answer = operation["responses"]["200"]
        answer["content"] = {answered_as: answer["content"]["application/json"]}
    for status, answer in operation["responses"].items():
        answer["description"] = _WORDS[status]
        headers = _headers(status, operation)
        if headers:
            answer["headers"] = headers
        if status == "201" and operation["operationId"] in _LEADS_TO:
            place, named, leads_to = _LEADS_TO[operation["operationId"]]
            answer["links"] = {
                name: {"operationId": name, "parameters": {place: named}} for name in leads_to
            }
        if int(status) >= 400:
            answer["content"] = {MEDIA_TYPE: answer["content"]["application/json"]}


def _headers(status: str, operation: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "string"}
    match status:
        case "401":
            return {"WWW-Authenticate": {"schema": text, "required": True}}
        case "409":
            return {
                "Retry-After": {
                    "schema": {"type": "string", "pattern": "^[0-9]+$"},
                    "description": "Seconds, where the same call is still at work.",
                }
            }
        case "201":
            return {"Location": {"schema": text, "description": "What was made.", "required": True}}
    return {}
