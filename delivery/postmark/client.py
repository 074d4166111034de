"""
The Postmark client: one call, one answer as a value of `call_results.py`. It never touches the
database, never retries and never raises for what the network or the provider does.

Three things `requests` does not do by itself, and why they are here:

- A deadline for the whole call. Its `timeout` counts each read; a server that sends a byte a
  minute would hold a batch for ever. At the deadline the socket is shut down (call_deadlines.py).
- Not starting late. A process that was frozen between its decision and its first byte must not
  write any more: the deadline is looked at again after connecting, just before the first byte.
- Leaving the environment alone: proxies and `.netrc` could carry mail and token elsewhere.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.response import HTTPResponse

from delivery.postmark.call_deadlines import Deadlines
from delivery.postmark.responses import SEARCH, classify_call, classify_page, classify_search
from delivery.postmark.suppression_responses import (
    SUPPRESSION_LIST,
    BouncePage,
    error_for_status,
    parse_bounce_page,
    parse_suppression_results,
)
from delivery.rules.call_results import (
    CallResult,
    Found,
    LookedUp,
    LookupResult,
    NoInformation,
    NotSent,
    Page,
    Unanswered,
)
from delivery.rules.reason import Reason, ReasonCode

_BATCH = "/email/batch"
CONNECT_TIMEOUT_S = 10.0
# A worker asks for the stream's setting when it starts, and must start without an answer too.
STREAM_CHECK_TIMEOUT_S = 5.0
# The search shows at most this many a page, and a batch holds no more.
PAGE_SIZE = 500
# Postmark's limit for `count + offset`.
MAX_SEARCH_RESULTS = 10_000
# An answer of 500 results is about 120 kB; nothing legitimate comes near this.
MAX_RESPONSE_BYTES = 16 * 1024 * 1024
# A suppression list is one answer, however many it names: of four million some 500 MB.
MAX_DUMP_BYTES = 512 * 1024 * 1024
DUMP_CHUNK_BYTES = 64 * 1024
# What a network may do. Anything else is a fault of ours: it ends the call unanswered as well,
# but loudly (delivery/worker/process.py), and the lease brings the batch back.
NETWORK_ERRORS = (requests.RequestException, HTTPError, http.client.HTTPException, OSError)


def now_s() -> float:
    """Seconds on a clock that also counts while the machine sleeps, where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


_deadlines = Deadlines(now_s)


class TooLateToStartError(Exception):
    """The deadline passed before the first byte was written: nothing has left."""


@dataclass
class _Call:
    """One call in the air: when it must end, and the socket to shut down then."""

    deadline_s: float
    wrote: bool = False
    over: bool = False
    sock: socket.socket | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, sock: socket.socket | None) -> float:
        """
        The connection is there: remember its socket, and refuse to write if time is up.

        Returns the seconds that are left.
        """
        with self.lock:
            remaining = self.deadline_s - now_s()
            if self.over or remaining <= 0:
                raise TooLateToStartError
            self.sock = sock
            self.wrote = True
            return remaining

    def end(self) -> None:
        """The deadline has come: whatever is in the socket dies with it."""
        with self.lock:
            self.over = True
            if self.sock is not None:
                # Not `self.sock.shutdown`: that of an SSLSocket takes the TLS layer from under the
                # thread that reads, which then meets None instead of an end of file.
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(self.sock, socket.SHUT_RDWR)

    def let_go(self) -> None:
        """The call is done; its socket may serve another one, which `end` must not meet."""
        with self.lock:
            self.sock = None


_current = threading.local()


class _Connection(HTTPConnection):
    """A connection that shows its socket to the call under way before it writes."""

    def request(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is None:
            self.connect()
        call: _Call | None = getattr(_current, "call", None)
        if call is not None:
            # By itself urllib3 gives the whole of the sending no longer than the connecting.
            self.timeout = call.take(self.sock)
        super().request(*args, **kwargs)


class _SecureConnection(_Connection, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class _Adapter(HTTPAdapter):
    """Connections with a deadline; no retries of any kind."""

    def __init__(self, deadline_s: float) -> None:
        self._socket_options = list(HTTPConnection.default_socket_options)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Bytes that the peer never acknowledged must not arrive after the deadline.
            unacknowledged_ms = max(1, int(deadline_s * 1000))
            self._socket_options.append(
                (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unacknowledged_ms)
            )
        super().__init__(max_retries=0, pool_connections=1, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, socket_options=self._socket_options, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}


class _Session(requests.Session):
    """A session to which a redirect is an answer like any other: not followed, not even read."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


def _passed_on(answer: HTTPResponse, write: Callable[[bytes], object]) -> bool:
    """Whether all of an answer went to `write`, in pieces; it does not if it is too long."""
    length = 0
    while piece := answer.read1(DUMP_CHUNK_BYTES, decode_content=True):
        length += len(piece)
        if length > MAX_DUMP_BYTES:
            return False
        write(piece)
    return True


def _suppressions(stream: str) -> str:
    return f"/message-streams/{quote(stream, safe='')}/suppressions"


@dataclass(frozen=True, slots=True)
class RawResponse:
    """Status, headers and body, as they came."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Postmark:
    """
    A client for one Postmark server (or what speaks its API). One instance per thread.

    `deadline_s` is the longest a call may take in all, from connecting to the last byte.
    """

    def __init__(
        self, base_url: str, token: str, *, deadline_s: float, deadlines: Deadlines = _deadlines
    ) -> None:
        self._base_url = base_url
        self._deadlines = deadlines
        self._deadline_s = deadline_s
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

    def send(self, body: bytes, addresses: Sequence[str], *, deadline_at_s: float) -> CallResult:
        """
        Send one batch. `body` is the JSON array of the messages to `addresses`, in that order.

        `deadline_at_s` is a reading of `now_s()`: not a byte is written after it.
        """
        answer = self._call("POST", _BATCH, body, deadline_at_s)
        if isinstance(answer, RawResponse):
            return classify_call(answer.status, answer.headers, answer.body, addresses)
        return answer

    @property
    def deadline_s(self) -> float:
        """The longest a call may take in all, in seconds."""
        return self._deadline_s

    def search(
        self, field_name: str, value: str, *, stream: str, deadline_at_s: float
    ) -> LookupResult:
        """
        Everything on `stream` whose metadata `field_name` is `value`, over all pages.

        All pages have to be there by `deadline_at_s`, a reading of `now_s()`. The stream must be
        named: a search without it looks at the transactional stream only.
        """
        found: list[Found] = []
        listed = total = 0
        for offset in range(0, MAX_SEARCH_RESULTS, PAGE_SIZE):
            query = urlencode(
                {
                    "count": PAGE_SIZE,
                    "offset": offset,
                    "messagestream": stream,
                    f"metadata_{field_name}": value,
                }
            )
            raw = self._call("GET", f"/messages/outbound?{query}", None, deadline_at_s)
            if not isinstance(raw, RawResponse):
                return NoInformation(raw.reason)
            page = classify_search(
                raw.status, raw.headers, raw.body, field_name=field_name, value=value
            )
            if isinstance(page, NoInformation):
                return page
            found.extend(page.found)
            listed += page.listed
            total = page.total
            if page.listed < PAGE_SIZE:
                break
        if listed < total:
            # What was not shown may be the very message that was asked for.
            return NoInformation(Reason.of(ReasonCode.QUERY_INCOMPLETE, subject=SEARCH))
        return LookedUp(tuple(found))

    def page(
        self,
        filters: Mapping[str, str],
        *,
        stream: str,
        offset: int,
        count: int = PAGE_SIZE,
        deadline_at_s: float,
    ) -> Page | NoInformation:
        """
        One page of what the provider has on `stream` under `filters` (`tag`, `fromdate`, …),
        newest first, whatever it bears. `count` is at most 500, with `offset` at most 10,000.
        """
        query = urlencode({"count": count, "offset": offset, "messagestream": stream, **filters})
        raw = self._call("GET", f"/messages/outbound?{query}", None, deadline_at_s)
        if not isinstance(raw, RawResponse):
            return NoInformation(raw.reason)
        return classify_page(raw.status, raw.headers, raw.body)

    def bounces(
        self, stream: str, *, offset: int, filters: Mapping[str, str], deadline_at_s: float
    ) -> BouncePage | NoInformation:
        """One page of the bounces and complaints of a stream, newest first, from `offset` on."""
        query = urlencode(
            {"count": PAGE_SIZE, "offset": offset, "messagestream": stream, **filters}
        )
        raw = self._call("GET", f"/bounces?{query}", None, deadline_at_s)
        if not isinstance(raw, RawResponse):
            return NoInformation(raw.reason)
        return parse_bounce_page(raw.status, raw.headers, raw.body)

    def suppressions(
        self,
        stream: str,
        *,
        filters: Mapping[str, str],
        write: Callable[[bytes], object],
        deadline_at_s: float,
    ) -> NoInformation | None:
        """
        Write down the suppression list of a stream, whole and as it comes: Postmark does not page
        it. Anything but None means that what was written is not the list. Whatever `write` raises
        ends the call.
        """
        query = f"?{urlencode(filters)}" if filters else ""
        path = f"{_suppressions(stream)}/dump{query}"
        raw = self._call("GET", path, None, deadline_at_s, write=write)
        if not isinstance(raw, RawResponse):
            return NoInformation(raw.reason)
        return error_for_status(raw.status, raw.headers, SUPPRESSION_LIST)

    def suppress(
        self, stream: str, addresses: Sequence[str], *, deadline_at_s: float
    ) -> Mapping[str, str] | NoInformation:
        """
        Have at most 50 addresses mailed no more. Says of each, case-folded, why it was refused;
        empty if it was done. Doing it twice is the same as once.
        """
        return self._change(_suppressions(stream), addresses, deadline_at_s)

    def reactivate(
        self, stream: str, addresses: Sequence[str], *, deadline_at_s: float
    ) -> Mapping[str, str] | NoInformation:
        """Have at most 50 addresses mailed again; answers as `suppress` does."""
        return self._change(f"{_suppressions(stream)}/delete", addresses, deadline_at_s)

    def _change(
        self, path: str, addresses: Sequence[str], deadline_at_s: float
    ) -> Mapping[str, str] | NoInformation:
        body = orjson.dumps({"Suppressions": [{"EmailAddress": each} for each in addresses]})
        raw = self._call("POST", path, body, deadline_at_s)
        if not isinstance(raw, RawResponse):
            return NoInformation(raw.reason)
        return parse_suppression_results(raw.status, raw.headers, raw.body)

    def unsubscribe_handling(self, stream: str) -> str | None:
        """The stream's own setting (`None`, `Postmark`, `Custom`), or None if it is not told."""
        raw = self._call(
            "GET",
            f"/message-streams/{quote(stream, safe='')}",
            None,
            now_s() + min(self._deadline_s, STREAM_CHECK_TIMEOUT_S),
        )
        if not isinstance(raw, RawResponse) or raw.status != 200:
            return None
        try:
            told = orjson.loads(raw.body)["SubscriptionManagementConfiguration"]
            handling = told["UnsubscribeHandlingType"]
        except (ValueError, KeyError, TypeError):
            return None
        return handling if isinstance(handling, str) else None

    def _request(self, method: str, path: str, body: bytes | None) -> requests.PreparedRequest:
        """
        The request, prepared. The one for a batch is prepared once and given another body each
        time: of a hundred a second all would be the same.
        """
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
    ) -> RawResponse | NotSent | Unanswered:
        """One call. A good answer goes to `write`, if there is one, and is not kept."""
        remaining = deadline_at_s - now_s()
        if remaining <= 0:
            return NotSent(Reason.of(ReasonCode.NO_TIME_LEFT))
        call = _Call(deadline_at_s)
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
                    if not _passed_on(response.raw, write):
                        return Unanswered(Reason.of(ReasonCode.RESPONSE_TOO_LONG))
                else:
                    content = response.raw.read(MAX_RESPONSE_BYTES + 1, decode_content=True)
                if len(content) > MAX_RESPONSE_BYTES:
                    return Unanswered(Reason.of(ReasonCode.RESPONSE_TOO_LONG))
            if response.status_code != HTTPStatus.OK:
                # An interim answer (1xx) or a proxy's page may be followed by the real one: read as
                # the answer to the next call on this connection, it would vouch for other mail.
                self._session.close()
            return RawResponse(response.status_code, response.headers, content)
        except TooLateToStartError:
            return NotSent(Reason.of(ReasonCode.NO_TIME_LEFT))
        except NETWORK_ERRORS as error:
            if not call.wrote:
                return NotSent(
                    Reason.of(
                        ReasonCode.NO_CONNECTION,
                        address=self._base_url,
                        error=type(error).__name__,
                    )
                )
            # The deadline and the socket's own patience end at one moment; either may be first.
            if call.over or now_s() >= deadline_at_s - 0.05:
                return Unanswered(Reason.of(ReasonCode.NO_RESPONSE_IN_TIME))
            return Unanswered(Reason.of(ReasonCode.CONNECTION_BROKE, error=type(error).__name__))
        finally:
            self._deadlines.take_back(deadline)
            _current.call = None
            call.let_go()
            # A body may have 20 MB.
            self._batch_request.body = None
