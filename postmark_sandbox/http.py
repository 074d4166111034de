"""Requests, responses, Postmark's refusals, and posting to a URL."""

from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import orjson
from urllib3 import PoolManager, Retry
from urllib3.exceptions import HTTPError

JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
POST_TIMEOUT_S = 10.0
# The maximum number of 3xx responses that Postmark follows.
REDIRECTS = Retry(10, connect=0, read=0, other=0, raise_on_redirect=False)
# Connections stay open between posts, until the webhook queue stops.
POOL = PoolManager(timeout=POST_TIMEOUT_S)


@dataclass(slots=True)
class Response:
    """HTTP response.

    With `closed`, the connection is closed without a response. With `cut`, the connection is closed
    in the middle of the body. `wait_s` is the delay before the response, in seconds.
    """

    status: int
    body: bytes
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    closed: bool = False
    cut: bool = False
    wait_s: float = 0.0


class PostmarkError(Exception):
    """A refusal by Postmark: the ErrorCode, the sentence and the HTTP status."""

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
    """Build an error as Postmark writes it, with its code in `X-PM-ApiErrorCode`."""
    body = orjson.dumps({"ErrorCode": code, "Message": message})
    return Response(status, body, headers={"X-PM-ApiErrorCode": str(code)})


def plain(status: int, sentence: str) -> Response:
    return Response(status, f"{sentence}\n".encode(), TEXT)


def see_other(path: str) -> Response:
    """Redirect with 303 after a form was posted."""
    return Response(303, b"", TEXT, {"Location": path})


@dataclass
class Request:
    """HTTP request. Header names and query keys are in lower case.

    `arrived` is the time of arrival on the monotonic clock, in seconds.
    """

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    at_ns: int
    arrived: float

    @cached_property
    def json(self) -> Any:
        """Return the body as JSON, or raise Postmark's error 402."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as wrong:
            raise PostmarkError(402, f"Invalid JSON: {wrong}.") from None

    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True))

    def addresses(self, field_name: str) -> list[str]:
        """Return one address field of every message whose field can be read."""
        try:
            read = self.json
        except PostmarkError:
            return []
        items = read if isinstance(read, list) else [read]
        texts = [str(item.get(field_name, "")) for item in items if isinstance(item, dict)]
        return [text.rpartition("<")[2].rstrip("> ") for text in texts]


def read_target(raw: str) -> tuple[str, dict[str, str]]:
    """Split a request target into path and query; of equal keys, the last one counts."""
    parts = urlsplit(raw)
    query = {key.lower(): value for key, value in parse_qsl(parts.query, keep_blank_values=True)}
    return unquote(parts.path), query


def post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
    """Post a body and follow redirects; return the last status, or 0 and the error."""
    try:
        response = POOL.request("POST", url, body=body, headers=headers, retries=REDIRECTS)
    except (HTTPError, ValueError) as error:
        return 0, str(error)
    return response.status, ""


def read_url(url: str) -> SplitResult | None:
    """Return the parts of a web address, or None if it cannot be posted to."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if usable else None


def is_loopback(host: str | None) -> bool:
    """Return whether a host is `localhost` or a loopback address."""
    try:
        return host is not None and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False
