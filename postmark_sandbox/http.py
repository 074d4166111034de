"""HTTP as the sandbox speaks it: requests, responses, Postmark's refusals, and posting to a URL."""

from dataclasses import dataclass, field
from enum import Enum
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urljoin, urlsplit

import orjson

JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
POST_TIMEOUT_S = 10.0
# Postmark follows 3xx, and gives up after so many.
MAX_REDIRECTS = 10
REDIRECTS = (301, 302, 303, 307, 308)


class Transfer(Enum):
    """How the bytes of a response leave, or do not."""

    WHOLE = "whole"
    CLOSED = "closed"
    CUT = "cut"


@dataclass(slots=True)
class Response:
    """`wait_s` passes before the first byte leaves."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    transfer: Transfer = Transfer.WHOLE
    wait_s: float = 0.0


class PostmarkError(Exception):
    """A refusal by Postmark: its ErrorCode, its sentence, the HTTP status."""

    def __init__(self, code: int, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status

    def response(self) -> Response:
        return error(self.code, self.message, self.status)


def ok(value: Any, status: int = 200) -> Response:
    return Response(status, orjson.dumps(value))


def error(code: int, message: str, status: int = 422) -> Response:
    """An error as Postmark writes it, its code also in the header `X-PM-ApiErrorCode`."""
    body = orjson.dumps({"ErrorCode": code, "Message": message})
    return Response(status, body, headers={"X-PM-ApiErrorCode": str(code)})


def plain(status: int, sentence: str) -> Response:
    return Response(status, f"{sentence}\n".encode(), TEXT)


def see_other(path: str) -> Response:
    """303: where to look after a form was posted."""
    return Response(303, b"", TEXT, {"Location": path})


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


@dataclass(frozen=True, slots=True)
class PostResult:
    """The last HTTP status, 0 if there was none, and the URL of the last redirect."""

    status: int
    moved_to: str = ""


class Poster:
    """Keeps its connections open from one post to the next. For one thread at a time."""

    def __init__(self) -> None:
        self._connections: dict[tuple[str, str], HTTPConnection] = {}

    def post(self, url: str, body: bytes, headers: dict[str, str]) -> PostResult:
        """Post the body, to every redirect as well; Authorization only to the first host."""
        here = urlsplit(url)
        posted = PostResult(0)
        for hops in range(MAX_REDIRECTS + 1):
            moved_to = here._replace(netloc=here.netloc.rpartition("@")[2]).geturl() if hops else ""
            status, location = self._post_once(here, body, headers)
            posted = PostResult(status, moved_to)
            there = _redirect(here, location) if status in REDIRECTS else None
            if there is None:
                break
            if (there.hostname, there.port) != (here.hostname, here.port):
                headers = {k: v for k, v in headers.items() if k != "Authorization"}
            here = there
        return posted

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _post_once(self, url: SplitResult, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        key = (url.scheme, url.netloc)
        try:
            if key not in self._connections:
                self._connections[key] = connect(url, POST_TIMEOUT_S)
            self._connections[key].request("POST", path_of(url), body, headers)
            response = self._connections[key].getresponse()
            response.read()
            return response.status, response.getheader("Location", "")
        except (OSError, HTTPException, ValueError):
            if broken := self._connections.pop(key, None):
                broken.close()
            return 0, ""


def connect(url: SplitResult, timeout_s: float) -> HTTPConnection:
    make = HTTPSConnection if url.scheme == "https" else HTTPConnection
    return make(url.hostname or "", url.port, timeout=timeout_s)


def path_of(url: SplitResult) -> str:
    return (url.path or "/") + (f"?{url.query}" if url.query else "")


def read_url(url: str) -> SplitResult | None:
    """The parts of a web address, None if nothing can be posted to it."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if usable else None


def is_loopback(host: str | None) -> bool:
    """Whether a host is this machine, by its own name or by an address."""
    try:
        return host is not None and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False


def _redirect(here: SplitResult, location: str) -> SplitResult | None:
    try:
        return read_url(urljoin(here.geturl(), location)) if location else None
    except ValueError:
        return None
