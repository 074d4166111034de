"""The Postmark client: one call gives one result of `call_results.py`, no retries.

Unlike `requests` it has a deadline for the whole call, at which the socket is shut down. The
deadline is checked again just before the first byte, because the process may have been frozen.
Proxies and `.netrc` are ignored."""

import contextlib
import http.client
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import quote, urlencode

import orjson
import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.response import HTTPResponse

from delivery.postmark import responses
from delivery.postmark.call_deadlines import Deadlines
from delivery.postmark.responses import Listing, Parsed, RawResponse
from delivery.rules.call_results import (
    CallResult,
    FoundMessage,
    LookupResult,
    NotSent,
    SearchAnswered,
    SearchFailed,
    Unanswered,
)
from delivery.rules.reason import Reason, ReasonCode

_BATCH = "/email/batch"
CONNECT_TIMEOUT_S = 10.0
# A worker reads the stream's setting when it starts. It must also start if Postmark does not
# answer.
STREAM_CHECK_TIMEOUT_S = 5.0
# The most results on a page of the search. The maximum number of messages in a batch.
PAGE_SIZE = 500
# Postmark's limit for `count + offset`.
MAX_SEARCH_RESULTS = 10_000
# An answer of 500 results is about 120 kB, far below this.
MAX_RESPONSE_BYTES = 16 * 1024 * 1024
# A suppression list is a single answer: about 500 MB for four million addresses.
MAX_DUMP_BYTES = 512 * 1024 * 1024
DUMP_CHUNK_BYTES = 64 * 1024
# The most bytes of a body that are written at the end in one go.
LAST_PIECE_BYTES = 64 * 1024
# Closing a connection discards what is not sent yet, also if the process is killed.
DISCARD_ON_CLOSE = (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
# The errors of a network. Any other error is a fault of ours. It is logged with its traceback
# (delivery/worker/process.py), and the batch is recovered when its lease expires.
NETWORK_ERRORS = (requests.RequestException, HTTPError, http.client.HTTPException, OSError)


def now_s() -> float:
    """Read a clock in seconds. Where possible it also counts while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


_deadlines = Deadlines(now_s)


class TooLateToStartError(Exception):
    """The deadline passed before the first byte was written: no mail was sent."""


def _nothing() -> None:
    pass


@dataclass
class _Call:
    deadline_s: float
    body: bytes | None = None
    about_to_complete: Callable[[], None] = _nothing
    wrote: bool = False
    over: bool = False
    sock: socket.socket | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, sock: socket.socket | None) -> float:
        """Keep the connection's socket; return the seconds left, or refuse if none are."""
        with self.lock:
            remaining = self.deadline_s - now_s()
            if self.over or remaining <= 0:
                raise TooLateToStartError
            self.sock = sock
            self.wrote = True
            return remaining

    def end(self) -> None:
        """Shut the socket down, because the deadline has come."""
        with self.lock:
            self.over = True
            if self.sock is not None:
                # `self.sock.shutdown` of an SSLSocket would remove the TLS layer while another
                # thread reads. The thread would then fail on None instead of an end of file.
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(self.sock, socket.SHUT_RDWR)

    def release_socket(self) -> None:
        """Forget the socket: it may serve another call, which `end` must not affect."""
        with self.lock:
            self.sock = None


_current = threading.local()


class _Connection(HTTPConnection):
    def request(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is None:
            self.connect()
        call: _Call | None = getattr(_current, "call", None)
        if call is not None:
            # Otherwise urllib3 bounds the sending by the connect timeout.
            self.timeout = call.take(self.sock)
        super().request(*args, **kwargs)

    def send(self, data: Any) -> None:
        call: _Call | None = getattr(_current, "call", None)
        if call is None or call.body is None or data is not call.body:
            super().send(data)
            return
        # Without the last piece the provider cannot have the whole request.
        view = memoryview(call.body)
        last_at = (len(view) - 1) // LAST_PIECE_BYTES * LAST_PIECE_BYTES
        if last_at > 0:
            super().send(view[:last_at])
        call.about_to_complete()
        super().send(view[last_at:])


class _SecureConnection(_Connection, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class _Adapter(HTTPAdapter):
    def __init__(self, deadline_s: float) -> None:
        self._socket_options = [*HTTPConnection.default_socket_options, DISCARD_ON_CLOSE]
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Unacknowledged bytes must not arrive after the deadline.
            unacknowledged_ms = max(1, int(deadline_s * 1000))
            self._socket_options.append(
                (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unacknowledged_ms)
            )
        super().__init__(max_retries=0, pool_connections=1, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, socket_options=self._socket_options, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}


class _Session(requests.Session):
    """A session that neither follows nor reads redirects."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


def _pass_on(response: HTTPResponse, write: Callable[[bytes], object]) -> bool:
    """Pass a response to `write` in chunks; return False if it is too long."""
    length = 0
    while chunk := response.read1(DUMP_CHUNK_BYTES, decode_content=True):
        length += len(chunk)
        if length > MAX_DUMP_BYTES:
            return False
        write(chunk)
    return True


def _suppressions(stream: str) -> str:
    return f"/message-streams/{quote(stream, safe='')}/suppressions"


class Postmark:
    """A client for one server and one thread. A call takes at most `deadline_s`."""

    def __init__(
        self, base_url: str, token: str, *, deadline_s: float, deadlines: Deadlines = _deadlines
    ) -> None:
        self._base_url = base_url
        self._deadlines = deadlines
        self.deadline_s = deadline_s
        self._session = _Session()
        self._session.trust_env = False
        adapter = _Adapter(deadline_s)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)
        self._session.headers.update(
            {
                "X-Postmark-Server-Token": token,
                "Accept": "application/json",
                "Content-Type": "application/json",
                "User-Agent": "Homing",
            }
        )
        self._batch_request = self._session.prepare_request(
            requests.Request("POST", base_url + _BATCH)
        )

    def close(self) -> None:
        """Close the idle connection."""
        self._session.close()

    def send(
        self,
        body: bytes,
        addresses: Sequence[str],
        *,
        deadline_at_s: float,
        about_to_complete: Callable[[], None] = _nothing,
    ) -> CallResult:
        """Send one batch: the JSON array `body` of the messages to `addresses`, in order.

        Nothing is written after `deadline_at_s`, a reading of `now_s()`. `about_to_complete` is
        called once, just before the last piece is written. Until then the provider cannot have
        received the whole request. Its errors end the call."""
        answer = self._call(
            "POST", _BATCH, body, deadline_at_s, about_to_complete=about_to_complete
        )
        return (
            responses.classify_call(*answer, addresses)
            if isinstance(answer, RawResponse)
            else answer
        )

    def search(
        self, field_name: str, value: str, *, stream: str, deadline_at_s: float
    ) -> LookupResult:
        """Find everything on `stream` whose metadata `field_name` is `value`.

        Reads all pages. Without a stream Postmark searches only the transactional one."""
        found: list[FoundMessage] = []
        listed = total = 0
        parse = partial(responses.parse_search, field_name=field_name, value=value)
        listing = Listing(responses.MESSAGES.path, responses.SEARCH, parse)
        filters = {f"metadata_{field_name}": value}
        for offset in range(0, MAX_SEARCH_RESULTS, PAGE_SIZE):
            page = self.page(
                listing, filters, stream=stream, offset=offset, deadline_at_s=deadline_at_s
            )
            if isinstance(page, SearchFailed):
                return page
            found.extend(page.found)
            listed += page.listed
            total = page.total
            if page.listed < PAGE_SIZE:
                break
        if listed < total:
            # The message that was not shown may be the one in question.
            return SearchFailed(Reason.of(ReasonCode.QUERY_INCOMPLETE, subject=responses.SEARCH))
        return SearchAnswered(tuple(found))

    def page(
        self,
        listing: Listing[Parsed],
        filters: Mapping[str, str],
        *,
        stream: str,
        offset: int,
        deadline_at_s: float,
    ) -> Parsed | SearchFailed:
        """Read one page of a listing on a stream under `filters` (`tag`, `fromdate`, …)."""
        query = {"count": PAGE_SIZE, "offset": offset, "messagestream": stream, **filters}
        raw = self._query("GET", f"{listing.path}?{urlencode(query)}", deadline_at_s)
        if isinstance(raw, SearchFailed):
            return raw
        return responses.parse_query(raw, listing.subject, listing.parse)

    def suppressions(
        self,
        stream: str,
        *,
        filters: Mapping[str, str],
        write: Callable[[bytes], object],
        deadline_at_s: float,
    ) -> SearchFailed | None:
        """Pass a stream's suppression list to `write` in chunks, because it has no pages.

        The list is complete only if this returns None. Errors of `write` end the call."""
        path = f"{_suppressions(stream)}/dump?{urlencode(filters)}".rstrip("?")
        raw = self._query("GET", path, deadline_at_s, write=write)
        if isinstance(raw, SearchFailed):
            return raw
        return responses.error_for_status(raw.status, raw.headers, responses.SUPPRESSION_LIST)

    def change_suppressions(
        self,
        change: Literal["suppress", "reactivate"],
        stream: str,
        addresses: Sequence[str],
        *,
        deadline_at_s: float,
    ) -> Mapping[str, str] | SearchFailed:
        """Change at most 50 addresses; return each with the reason for its refusal.

        The reason is empty if the address was changed. Addresses are case-folded."""
        path = _suppressions(stream) if change == "suppress" else f"{_suppressions(stream)}/delete"
        body = orjson.dumps({"Suppressions": [{"EmailAddress": each} for each in addresses]})
        raw = self._query("POST", path, deadline_at_s, body=body)
        if isinstance(raw, SearchFailed):
            return raw
        return responses.parse_query(
            raw, responses.SUPPRESSION_CHANGE, responses.parse_suppression_results
        )

    def unsubscribe_handling(self, stream: str) -> str | None:
        """Read the stream's setting: `None`, `Postmark` or `Custom`; None if unknown."""
        deadline_at_s = now_s() + min(self.deadline_s, STREAM_CHECK_TIMEOUT_S)
        raw = self._query("GET", f"/message-streams/{quote(stream, safe='')}", deadline_at_s)
        if isinstance(raw, SearchFailed) or raw.status != 200:
            return None
        try:
            settings = orjson.loads(raw.body)["SubscriptionManagementConfiguration"]
            handling = settings["UnsubscribeHandlingType"]
        except (ValueError, KeyError, TypeError):
            return None
        return handling if isinstance(handling, str) else None

    def _query(
        self, method: str, path: str, deadline_at_s: float, *, body: bytes | None = None, **how: Any
    ) -> RawResponse | SearchFailed:
        raw = self._call(method, path, body, deadline_at_s, **how)
        return raw if isinstance(raw, RawResponse) else SearchFailed(raw.reason)

    def _request(self, method: str, path: str, body: bytes | None) -> requests.PreparedRequest:
        """Prepare a request. A batch's request is prepared once and gets another body."""
        if path != _BATCH:
            request = requests.Request(method, self._base_url + path, data=body)
            return self._session.prepare_request(request)
        self._batch_request.prepare_body(body, None)
        return self._batch_request

    def _call(
        self,
        method: str,
        path: str,
        body: bytes | None,
        deadline_at_s: float,
        *,
        write: Callable[[bytes], object] | None = None,
        about_to_complete: Callable[[], None] = _nothing,
    ) -> RawResponse | NotSent | Unanswered:
        """Make one call. A good response goes to `write`, if given, and is not kept."""
        remaining = deadline_at_s - now_s()
        if remaining <= 0:
            return NotSent(Reason.of(ReasonCode.NO_TIME_LEFT))
        call = _Call(deadline_at_s, body, about_to_complete)
        deadline = self._deadlines.add(deadline_at_s, call.end)
        _current.call = call
        try:
            with self._session.send(
                self._request(method, path, body),
                timeout=(min(CONNECT_TIMEOUT_S, remaining), remaining),
                stream=True,
            ) as response:
                if write is not None and response.status_code == HTTPStatus.OK:
                    content = b""
                    if not _pass_on(response.raw, write):
                        return Unanswered(Reason.of(ReasonCode.RESPONSE_TOO_LONG))
                else:
                    content = response.raw.read(MAX_RESPONSE_BYTES + 1, decode_content=True)
                if len(content) > MAX_RESPONSE_BYTES:
                    return Unanswered(Reason.of(ReasonCode.RESPONSE_TOO_LONG))
            if response.status_code != HTTPStatus.OK:
                # The real response may follow an interim one (1xx) or a proxy's page. On this
                # connection it would be read as the response to the next call.
                self._session.close()
            return RawResponse(response.status_code, response.headers, content)
        except TooLateToStartError:
            return NotSent(Reason.of(ReasonCode.NO_TIME_LEFT))
        except NETWORK_ERRORS as error:
            if not call.wrote:
                return NotSent(
                    Reason.of(
                        ReasonCode.NO_CONNECTION, url=self._base_url, error=type(error).__name__
                    )
                )
            # The deadline and the socket's timeout end at the same time, so either may be first.
            if call.over or now_s() >= deadline_at_s - 0.05:
                return Unanswered(Reason.of(ReasonCode.NO_RESPONSE_IN_TIME))
            return Unanswered(Reason.of(ReasonCode.CONNECTION_BROKE, error=type(error).__name__))
        finally:
            self._deadlines.cancel(deadline)
            _current.call = None
            call.release_socket()
            self._batch_request.body = None
