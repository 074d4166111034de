"""HTTP requests."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson

from postmark_sandbox.http.response import PostmarkError


@dataclass(slots=True)
class Request:
    """Header names and query keys are in lower case. `arrived` is monotonic, in seconds."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    at_ns: int
    arrived: float
    _json: Any = field(default=None, repr=False)

    def json(self) -> Any:
        """The body as JSON, or Postmark's 402."""
        if self._json is None:
            try:
                self._json = orjson.loads(self.body)
            except orjson.JSONDecodeError as wrong:
                raise PostmarkError(402, f"Invalid JSON: {wrong}.") from None
        return self._json

    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True))

    def addresses(self, field_name: str) -> list[str]:
        """The addresses in one field of every message in the body, as far as it can be read."""
        try:
            read = self.json()
        except PostmarkError:
            return []
        items = read if isinstance(read, list) else [read]
        texts = [str(item.get(field_name, "")) for item in items if isinstance(item, dict)]
        return [text.rpartition("<")[2].rstrip("> ") for text in texts]


def read_target(raw: str) -> tuple[str, dict[str, str]]:
    """Path and query of a request line; the last of equal query keys wins."""
    parts = urlsplit(raw)
    query = {key.lower(): value for key, value in parse_qsl(parts.query, keep_blank_values=True)}
    return unquote(parts.path), query
