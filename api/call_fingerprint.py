"""
What makes two calls the same: the only place that says which of their values count, and how.

A field that is left out and one at its default are the same. So the call of a program that knows
nothing of a field stays the same when a release adds that field.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from django.http import HttpRequest
from pydantic import BaseModel

from idempotency.fingerprint import UploadedContent, fingerprint, keyed

Values = Sequence[str | UploadedContent]


def fingerprints_of_call(
    request: HttpRequest, body: BaseModel | None, files: Sequence[UploadedContent] = ()
) -> list[bytes]:
    """
    The fingerprint to remember, and then as it would have been written under each earlier key.

    Over the method, the path, the query, what came in the body whatever its order and its blanks
    were, and the files.
    """
    content: dict[str, Values] = {
        "files": files,
        "query": [
            f"{name}={value}" for name in sorted(request.GET) for value in [request.GET[name]]
        ],
        **_values_of(body),
    }
    return keyed(fingerprint(request.method or "", request.path, content))


def _values_of(body: BaseModel | None) -> dict[str, Values]:
    if body is None:
        return {}
    return {
        # Texts as they are, so that their line ends are taken for the same.
        f"body.{name}": ["text", value] if isinstance(value, str) else ["json", json.dumps(value)]
        for name, value in body.model_dump(mode="json", exclude_defaults=True).items()
    }
