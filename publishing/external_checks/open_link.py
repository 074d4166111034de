"""Open a link to learn its HTTP status, and prevent server-side request forgery.

`fetch` also reads a file, such as an image. The caller tells `fetch` the allowed hosts and the
largest size. `fetch` accepts only HTTPS.

Every IP address of the host is checked. The connection is made to the checked address itself, so a
change in the DNS after the check has no effect. Each redirect is checked again. For a link, only
the headers of the response are read. Requests contain no cookie, password or referrer.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from delivery.control_characters import CONTROL_CHARACTERS
from publishing.external_checks.domain_records import DnsStatus, NameServers
from publishing.external_checks.ssrf_guard import AddressFilter, IPAddress, is_public, parse_address

LINK_TIMEOUT_S = 5.0
MAX_REDIRECTS = 3
# Visible ASCII characters stay as they are. All other characters are percent-encoded, as in
# browsers.
_KEPT = "".join(map(chr, range(ord("!"), ord("~") + 1)))
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# After these statuses, repeat the request with GET, because some servers refuse HEAD or answer it
# differently.
_RETRY_WITH_GET = frozenset({400, 403, 404, 405, 406, 410, 500, 501, 503})
_HEADERS = {
    "User-Agent": "Homing (opens the links of a letter before it is published)",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Connection": "close",
}
# These statuses mean that the page does not exist.
_GONE = frozenset({404, 410})


class LinkError(models.TextChoices):
    """The reason why a link gave no response.

    Saved results contain these values, so do not change them.
    """

    NONE = "", ""
    NO_SUCH_HOST = "no such host", gettext_lazy("the host does not exist")
    DNS_FAILED = "the host could not be looked up", gettext_lazy("the host could not be looked up")
    NOT_PUBLIC = "an address that is not public", gettext_lazy("the address is not public")
    NOT_A_WEB_URL = "not an address of the web", gettext_lazy("not a web address")
    TOO_MANY_REDIRECTS = "too many redirects", gettext_lazy("too many redirects")
    REFUSED = "the connection was refused", gettext_lazy("the connection was refused")
    CERTIFICATE = "a certificate that is not valid", gettext_lazy("the certificate is not valid")
    TIMEOUT = "no answer in time", gettext_lazy("no answer in time")
    INVALID_RESPONSE = "an answer that is none", gettext_lazy("the response is not valid")


# After these errors the link may still work for readers.
_MAY_PASS = frozenset(
    {LinkError.NONE, LinkError.DNS_FAILED, LinkError.TIMEOUT, LinkError.INVALID_RESPONSE}
)


@dataclass(frozen=True, slots=True)
class LinkResult:
    """The status of the last response, or the error; `url` is the last URL."""

    status: int = 0
    error: LinkError = LinkError.NONE
    url: str = ""

    @property
    def is_dead(self) -> bool:
        """True if the link certainly fails for readers, and not only for Homing."""
        return self.status in _GONE or self.status >= 500 or self.error not in _MAY_PASS

    @property
    def is_ok(self) -> bool:
        """True if the link leads to a page."""
        return 200 <= self.status < 400

    @property
    def words(self) -> str:
        """The status or error in words, such as “answers 404”."""
        if self.status:
            return _("answers {status}").format(status=self.status)
        return str(self.error.label)


class FetchError(Exception):
    """The file cannot be fetched, or must not be fetched from this URL."""


class _Response(NamedTuple):
    status: int
    location: str | None
    content: bytes


class _LinkFailedError(Exception):
    """A link gave no response."""

    def __init__(self, error: LinkError) -> None:
        super().__init__(error)
        self.error = error


@dataclass(frozen=True, slots=True)
class LinkOpener:
    """Opens links at allowed IP addresses; by default, only at public addresses."""

    servers: NameServers
    is_allowed: AddressFilter = is_public
    trusted: ssl.SSLContext = field(
        default_factory=lambda: ssl.create_default_context(cafile=DEFAULT_CA_BUNDLE_PATH)
    )

    def open(self, url: str, *, deadline: float) -> LinkResult:
        """Open a URL before `deadline` and within `LINK_TIMEOUT_S`. Never raises."""
        deadline = min(deadline, time.monotonic() + LINK_TIMEOUT_S)
        try:
            for _ in range(MAX_REDIRECTS + 1):
                status, location, _content = self._request("HEAD", url, deadline)
                if status in _RETRY_WITH_GET:
                    status, location, _content = self._request("GET", url, deadline)
                if status not in _REDIRECTS or location is None:
                    return LinkResult(status=status, url=url)
                url = _redirect_target(url, location)
        except _LinkFailedError as error:
            return LinkResult(error=error.error, url=url)
        return LinkResult(error=LinkError.TOO_MANY_REDIRECTS, url=url)

    def fetch(self, url: str, *, hosts: Collection[str], most: int, deadline: float) -> bytes:
        """Return the file at a URL, of at most `most` bytes.

        The URL and each redirect must lead to one of the `hosts`.

        An entry of `hosts` may have a port. Raises `FetchError`.
        """
        try:
            for _ in range(MAX_REDIRECTS + 1):
                if not url.startswith("https://") or urlsplit(url).netloc.lower() not in hosts:
                    break
                answer = self._request("GET", url, deadline, most)
                if answer.status == 200 and len(answer.content) <= most:
                    return answer.content
                if answer.status not in _REDIRECTS or answer.location is None:
                    break
                url = _redirect_target(url, answer.location)
        except (_LinkFailedError, ValueError):
            pass
        raise FetchError(url)

    def _request(self, method: str, url: str, deadline: float, most: int = 0) -> _Response:
        try:
            parts = urlsplit(url)
            host, scheme = parts.hostname or "", parts.scheme.lower()
            port = parts.port or _PORTS.get(scheme, 0)
            name = host if parse_address(host) else host.encode("idna").decode("ascii")
        except (ValueError, UnicodeError):
            raise _LinkFailedError(LinkError.NOT_A_WEB_URL) from None
        if scheme not in _PORTS or not name:
            raise _LinkFailedError(LinkError.NOT_A_WEB_URL)
        path, query = quote(parts.path, _KEPT) or "/", quote(parts.query, _KEPT)
        target = urlunsplit(("", "", path, query, ""))
        address = self._resolve(name, deadline)
        try:
            with _TimedConnection(address, port, deadline) as connection:
                if scheme == "https":
                    connection.encrypt(self.trusted, name)
                return connection.request(method, name, port, scheme, target, most)
        except ssl.SSLCertVerificationError:
            raise _LinkFailedError(LinkError.CERTIFICATE) from None
        except ConnectionRefusedError:
            raise _LinkFailedError(LinkError.REFUSED) from None
        except (OSError, http.client.HTTPException, ValueError):
            # When the timer cuts the connection at the deadline, any of these errors can occur.
            late = time.monotonic() >= deadline
            raise _LinkFailedError(
                LinkError.TIMEOUT if late else LinkError.INVALID_RESPONSE
            ) from None

    def _resolve(self, host: str, deadline: float) -> IPAddress:
        """Return an address of the host, if all addresses of the host are allowed."""
        literal = parse_address(host)
        addresses = [literal] if literal else self._look_up(host, deadline)
        if not all(map(self.is_allowed, addresses)):
            raise _LinkFailedError(LinkError.NOT_PUBLIC)
        return addresses[0]

    def _look_up(self, host: str, deadline: float) -> list[IPAddress]:
        answers = [self.servers.query(host, kind, deadline=deadline) for kind in ("A", "AAAA")]
        values = [value for answer in answers for value in answer.values]
        if addresses := [address for value in values if (address := parse_address(value))]:
            return addresses
        if time.monotonic() >= deadline:
            raise _LinkFailedError(LinkError.TIMEOUT)
        has_failed = any(answer.status is DnsStatus.NO_ANSWER for answer in answers)
        raise _LinkFailedError(LinkError.DNS_FAILED if has_failed else LinkError.NO_SUCH_HOST)


class _TimedConnection:
    """A connection that a timer closes at its deadline.

    A socket's own timeout would not help, because it restarts with every byte.
    """

    def __init__(self, address: IPAddress, port: int, deadline: float) -> None:
        self._deadline = deadline
        self._timer = threading.Timer(self._time_left(), self._shut_down)
        self._timer.daemon = True
        self._socket = socket.create_connection((str(address), port), timeout=self._time_left())
        self._timer.start()

    def _time_left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _shut_down(self) -> None:
        with contextlib.suppress(OSError):  # the connection may have ended
            self._socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> _TimedConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._socket.close()

    def encrypt(self, trusted: ssl.SSLContext, name: str) -> None:
        """Start TLS; the server must have a valid certificate for `name`."""
        # Store the new socket before the handshake, so that the timer can cut the handshake too.
        self._socket = encrypted = trusted.wrap_socket(
            self._socket, server_hostname=name, do_handshake_on_connect=False
        )
        encrypted.do_handshake()

    def request(
        self, method: str, name: str, port: int, scheme: str, target: str, most: int
    ) -> _Response:
        """Send one request, and read the headers of the response.

        If `most` is not 0, also read the content, but at most `most` + 1 bytes of it.
        """
        connection = http.client.HTTPConnection(name, port)
        connection.default_port = _PORTS[scheme]  # the Host header omits this port
        connection.sock = self._socket
        connection.request(method, target, headers=_HEADERS)
        response = connection.getresponse()
        content = response.read(most + 1) if most and response.status == 200 else b""
        if most and response.length and len(content) <= most:
            raise http.client.IncompleteRead(content)  # the response was cut off
        return _Response(response.status, response.getheader("Location"), content)


def _redirect_target(url: str, location: str) -> str:
    try:
        target = urljoin(url, location)
    except ValueError:
        raise _LinkFailedError(LinkError.NOT_A_WEB_URL) from None
    if CONTROL_CHARACTERS.search(target):
        raise _LinkFailedError(LinkError.NOT_A_WEB_URL)
    return target
