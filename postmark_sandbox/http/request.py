"""The only place for what a request to the sandbox is, read from the wire or made by hand."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson

from postmark_sandbox.http.response import Refused
from postmark_sandbox.state.outbox import Parcel


@dataclass(slots=True)
class Request:
    """One request. Header names and query keys are in lower case. `arrived` is on the monotonic
    clock, in seconds. The last four are notes of what came of it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    at_ns: int
    arrived: float
    messages: int = 0
    parcel: Parcel | None = None
    fault: str = ""
    branch: str = ""
    _json: Any = field(default=None, repr=False)

    def json(self) -> Any:
        """The body as JSON, or Postmark's 402."""
        if self._json is None:
            try:
                self._json = orjson.loads(self.body)
            except orjson.JSONDecodeError as wrong:
                raise Refused(402, f"Invalid JSON: {wrong}.") from None
        return self._json

    def form(self) -> dict[str, str]:
        """The body as a posted HTML form."""
        return dict(parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True))

    def recipients(self) -> set[str]:
        """The addresses in `To` of everything in the body, in lower case, as far as it can be
        read: for rules that look for one of them."""
        return {address.lower() for address in self._addresses("To")}

    def sender(self) -> str:
        """The address in `From` of the first message in the body; empty if none can be read."""
        return next(iter(self._addresses("From")), "")

    def _addresses(self, name: str) -> list[str]:
        try:
            read = self.json()
        except Refused:
            return []
        items = read if isinstance(read, list) else [read]
        texts = [str(item.get(name, "")) for item in items if isinstance(item, dict)]
        return [text.rpartition("<")[2].rstrip("> ") for text in texts]


def target(raw: str) -> tuple[str, dict[str, str]]:
    """Path and query of a request line; query keys in lower case, the last of equal ones wins."""
    parts = urlsplit(raw)
    query = {key.lower(): value for key, value in parse_qsl(parts.query, keep_blank_values=True)}
    return unquote(parts.path), query
