"""Send the HTTP requests of client libraries over Homing's own connection.

A library may repeat a request, follow a redirect (307 repeats a POST), read a proxy from the
environment, or wait again after each byte. `Connection` does none of this, and it knows when the
last byte of a request is written.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers
from urllib3.util import parse_url

from delivery.provider.http_connection import Connection, RawResponse

ACCEPTED = (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED)
# Headers that `Connection` writes itself.
_ITS_OWN = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}


class WatchedHttp(BaseAdapter):
    """The transport of one client, with one try for each request.

    `is_complete`: the last byte of the present message's request may have been written. `origin` is
    the scheme and the host of the last request, and `answer` the last answer.
    """

    def __init__(self, deadline_s: float) -> None:
        super().__init__()
        self._deadline_s = deadline_s
        self._connections: dict[str, Connection] = {}
        self._about_to_complete: Callable[[], None] | None = None
        self.deadline_at_s = 0.0
        self.origin = ""
        self.answer: RawResponse | None = None
        self.is_complete = False

    def begin(self, deadline_at_s: float, about_to_complete: Callable[[], None]) -> None:
        """Begin a call, whose requests end at the deadline, a time of `now_s()`."""
        self.deadline_at_s, self._about_to_complete = deadline_at_s, about_to_complete

    def close(self) -> None:
        """Close the idle connections."""
        for connection in self._connections.values():
            connection.close()

    def call(
        self, method: str, url: str, headers: Mapping[str, Any], body: bytes | str | None
    ) -> RawResponse:
        """Make one request. Raises what `Connection.call` raises."""
        parts = parse_url(url)
        self.origin = origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._connections:
            self._connections[origin] = Connection(
                origin,
                {},
                deadline_s=self._deadline_s,
                kept_after=ACCEPTED,
                reads_headers=True,
            )
        self.answer = None
        self.answer = self._connections[origin].call(
            method,
            parts.request_uri,
            body.encode() if isinstance(body, str) else body or b"",
            deadline_at_s=self.deadline_at_s,
            about_to_complete=self._may_complete,
            headers={
                name: value.decode("latin-1") if isinstance(value, bytes) else value
                for name, value in headers.items()
                if name.lower() not in _ITS_OWN
            },
        )
        return self.answer

    def _may_complete(self) -> None:
        before, self._about_to_complete = self._about_to_complete, None
        if before is not None:
            before()
        self.is_complete = True

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        """Make a request of the library `requests`. An answer with a redirect is final."""
        raw = self.call(
            request.method or "", request.url or "", request.headers or {}, request.body
        )
        headers = CaseInsensitiveDict(raw.headers)
        headers.pop("Location", None)
        response = requests.Response()
        response.status_code, response.headers, response._content = raw.status, headers, raw.body
        response.reason = HTTPStatus(raw.status).phrase if raw.status in set(HTTPStatus) else ""
        response.encoding = get_encoding_from_headers(headers)
        response.url, response.request = request.url or "", request
        return response

    def session(self) -> requests.Session:
        """Make a session that sends every request here, without proxies and `.netrc`."""
        session = requests.Session()
        session.trust_env = False
        for scheme in ("https://", "http://"):
            session.mount(scheme, self)
        return session
