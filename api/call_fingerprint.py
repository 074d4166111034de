"""
What makes two calls the same under one idempotency key.

A field that is left out and one at its default are the same. So a call stays the same when a
release adds a field that its program does not know.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from django.http import HttpRequest
from pydantic import BaseModel

from idempotency.fingerprint import FileDigest, content_hash, keyed_fingerprints

Values = Sequence[str | FileDigest]


def call_fingerprints(
    request: HttpRequest, body: BaseModel | None, files: Sequence[FileDigest] = ()
) -> list[bytes]:
    """
    Return the fingerprint to save, and those under earlier secret keys.

    They cover the method, the path, the query, the values of the body whatever its order and
    blanks, and the files.
    """
    content: dict[str, Values] = {
        "files": files,
        "query": [f"{name}={request.GET[name]}" for name in sorted(request.GET)],
    }
    if body is not None:
        for name, value in body.model_dump(mode="json", exclude_defaults=True).items():
            # Texts as they are, so that their line ends are normalised.
            is_text = isinstance(value, str)
            content[f"body.{name}"] = ["text", value] if is_text else ["json", json.dumps(value)]
    return keyed_fingerprints(content_hash(request.method or "", request.path, content))
