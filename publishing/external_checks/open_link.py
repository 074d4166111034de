"""
Opening one link as far as its status, and nowhere that a letter may not lead us.

The host is resolved here, every address that is found is judged, and the connection is made to
exactly the address that was judged: between the judgement and the connection nobody can put
another one in its place. Each redirect is judged anew. Nothing is read but the head of an answer,
and nothing is sent but the request: no cookie, no password, no referrer.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit, urlunsplit

from requests.utils import DEFAULT_CA_BUNDLE_PATH

from publishing.external_checks.dns_queries import NameServers
from publishing.external_checks.domain_records import Said
from publishing.external_checks.link_result import LinkAnswer, Trouble
from publishing.external_checks.ssrf_guard import (
    IPAddress,
    MayConnect,
    as_address,
    is_public,
)

LONGEST_LINK_S = 5.0
MOST_REDIRECTS = 3
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Heads that say “not with HEAD”, and those that say anything else to it than to a reader.
_ASK_AGAIN_WITH_GET = frozenset({400, 403, 404, 405, 406, 410, 500, 501, 503})
_HEADERS = {
    "User-Agent": "Homing (opens the links of a letter before it is published)",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Connection": "close",
}


class _InTheWayError(Exception):
    """A link did not lead to an answer."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble)
        self.trouble = trouble


@dataclass(frozen=True, slots=True)
class LinkOpener:
    """
    Opens links by these name servers, at the addresses that `may_connect` allows.

    The running program allows public addresses and the certificates that everybody trusts; a test
    allows its own server.
    """

    servers: NameServers
    may_connect: MayConnect = is_public
    trusted: ssl.SSLContext = field(
        default_factory=lambda: ssl.create_default_context(cafile=DEFAULT_CA_BUNDLE_PATH)
    )

    def open(self, address: str, *, until: float) -> LinkAnswer:
        """
        What the link answers, after redirects. It never raises and ends in time: by `until`, and
        within `LONGEST_LINK_S`.
        """
        until = min(until, time.monotonic() + LONGEST_LINK_S)
        at = address
        try:
            for _ in range(MOST_REDIRECTS + 1):
                status, onwards = self._ask(at, until)
                if status not in _REDIRECTS or onwards is None:
                    return LinkAnswer(status=status, at=at)
                at = _onwards(at, onwards)
        except _InTheWayError as error:
            return LinkAnswer(trouble=error.trouble, at=at)
        return LinkAnswer(trouble=Trouble.TOO_MANY_REDIRECTS, at=at)

    def _ask(self, address: str, until: float) -> tuple[int, str | None]:
        status, onwards = self._request("HEAD", address, until)
        if status in _ASK_AGAIN_WITH_GET:
            return self._request("GET", address, until)
        return status, onwards

    def _request(self, method: str, address: str, until: float) -> tuple[int, str | None]:
        """One request: the status, and where it redirects to."""
        try:
            parts = urlsplit(address)
            host, scheme = parts.hostname or "", parts.scheme.lower()
            port = parts.port or _PORTS.get(scheme, 0)
            name = host if as_address(host) else host.encode("idna").decode("ascii")
        except (ValueError, UnicodeError):
            raise _InTheWayError(Trouble.NOT_WEB) from None
        if scheme not in _PORTS or not name:
            raise _InTheWayError(Trouble.NOT_WEB)
        target = urlunsplit(("", "", _in_ascii(parts.path) or "/", _in_ascii(parts.query), ""))
        place = self._place_of(name, until)
        try:
            with _Line(place, port, until) as line:
                if scheme == "https":
                    line.encrypt(self.trusted, name)
                return line.ask(method, name, port, scheme, target)
        except ssl.SSLCertVerificationError:
            raise _InTheWayError(Trouble.CERTIFICATE) from None
        except ConnectionRefusedError:
            raise _InTheWayError(Trouble.REFUSED) from None
        except (OSError, http.client.HTTPException, ValueError):
            # A line that was cut because its time was over breaks in any of these ways.
            late = time.monotonic() >= until
            raise _InTheWayError(Trouble.TOO_SLOW if late else Trouble.BROKEN) from None

    def _place_of(self, host: str, until: float) -> IPAddress:
        """The address to connect to. Every address of the host has to be allowed."""
        written = as_address(host)
        if written:
            found = [written]
        else:
            answers = [self.servers.ask(host, kind, until=until) for kind in ("A", "AAAA")]
            found = [
                address
                for answer in answers
                for value in answer.values
                if (address := as_address(value))
            ]
            if not found:
                if time.monotonic() >= until:
                    raise _InTheWayError(Trouble.TOO_SLOW)
                said = {answer.said for answer in answers}
                raise _InTheWayError(
                    Trouble.NOT_LOOKED_UP if Said.NO_ANSWER in said else Trouble.NO_SUCH_HOST
                )
        if not all(map(self.may_connect, found)):
            raise _InTheWayError(Trouble.NOT_PUBLIC)
        return found[0]


class _Line:
    """
    A connection to one address, cut when its time is over.

    A timeout of a socket begins again with every byte, so that a server that drips could hold it
    for ever; the cut does not.
    """

    def __init__(self, place: IPAddress, port: int, until: float) -> None:
        self._until = until
        self._cut = threading.Timer(self._left(), self._end)
        self._cut.daemon = True
        self._socket = socket.create_connection((str(place), port), timeout=self._left())
        self._cut.start()

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _end(self) -> None:
        with contextlib.suppress(OSError):  # it may just have ended by itself
            self._socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._cut.cancel()
        self._socket.close()

    def encrypt(self, trusted: ssl.SSLContext, name: str) -> None:
        """Speak TLS, with whoever proves to be `name` and not only to be at that address."""
        # In two steps, so that a handshake can be cut too.
        self._socket = encrypted = trusted.wrap_socket(
            self._socket, server_hostname=name, do_handshake_on_connect=False
        )
        encrypted.do_handshake()

    def ask(
        self, method: str, name: str, port: int, scheme: str, target: str
    ) -> tuple[int, str | None]:
        """One request; of the answer nothing but its head."""
        connection = http.client.HTTPConnection(name, port)
        connection.default_port = _PORTS[scheme]  # which the Host header leaves out
        connection.sock = self._socket
        connection.request(method, target, headers=_HEADERS)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Location")


def _onwards(at: str, said: str) -> str:
    """Where a redirect leads. What a server says there may be anything at all."""
    try:
        onwards = urljoin(at, said)
    except ValueError:
        raise _InTheWayError(Trouble.NOT_WEB) from None
    # No browser goes there, and no table holds a NUL.
    if any(char < " " or char == "\x7f" for char in onwards):
        raise _InTheWayError(Trouble.NOT_WEB)
    return onwards


def _in_ascii(part: str) -> str:
    """What a browser makes of it: anything that is not ASCII, and blanks, in per cent."""
    return "".join(
        char if "!" <= char <= "~" else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in part
    )
