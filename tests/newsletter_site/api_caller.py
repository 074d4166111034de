"""A program that calls the API with a token, as the site's tests see it."""

import json
import uuid
from typing import Any

from django.http import HttpResponse
from django.test import Client

from newsletter_site.tokens.api_tokens import create_token, scopes_allowed_for

API = "/api/v1"


class Program:
    """A user's program, with a token for `scopes` or for every permitted scope."""

    def __init__(self, person: Any, *scopes: str) -> None:
        self.person = person
        wanted = scopes or [scope.name for scope in scopes_allowed_for(person)]
        made = create_token(person, "a program", wanted)
        self.row, self.token = made.row, made.token
        self.client = Client(raise_request_exception=False)

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.client.get(f"{API}{path}", secure=True, headers=self._headers(headers))

    def patch(self, path: str, body: Any) -> Any:
        """Send a PATCH with a value as JSON and a new key."""
        return self.post(path, body, method="PATCH")

    def post(
        self,
        path: str,
        body: Any = None,
        key: str | None = "",
        method: str = "POST",
        **headers: str,
    ) -> Any:
        """POST a value as JSON. An empty `key` means a new key, and None means no key."""
        if key is not None:
            headers["Idempotency-Key"] = key or str(uuid.uuid4())
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body)
        return self.client.generic(
            method,
            f"{API}{path}",
            data=data,
            content_type=headers.pop("content_type", "application/json"),
            secure=True,
            headers=self._headers(headers),
        )

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", **headers}
