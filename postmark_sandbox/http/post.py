"""The only place that posts one body to one address, and follows where it is sent on to."""

from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import SplitResult, urljoin, urlsplit

TIMEOUT_S = 10.0
# Postmark follows 3xx; after so many it gives up.
MOST_HOPS = 10
REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class Posted:
    """The HTTP status that ended it, 0 if there was none; `moved_to` where it was sent on to."""

    status: int
    moved_to: str = ""


class Poster:
    """Keeps its connections open from one post to the next. For one thread at a time."""

    def __init__(self) -> None:
        self._connections: dict[tuple[str, str], HTTPConnection] = {}

    def post(self, url: str, body: bytes, headers: dict[str, str]) -> Posted:
        """What came at the end of the redirects. The body goes along each time; Authorization only
        to the host that it was meant for."""
        here = urlsplit(url)
        status, moved_to = 0, ""
        for hops in range(MOST_HOPS + 1):
            moved_to = _without_password(here) if hops else ""
            status, location = self._posted(here, body, headers)
            there = _moved(here, location) if status in REDIRECTS else None
            if there is None:
                return Posted(status, moved_to)
            if (there.hostname, there.port) != (here.hostname, here.port):
                headers = {k: v for k, v in headers.items() if k != "Authorization"}
            here = there
        return Posted(status, moved_to)

    def hang_up(self) -> None:
        """Closes every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _posted(self, url: SplitResult, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        key = (url.scheme, url.netloc)
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        try:
            connection = self._connections.get(key)
            if connection is None:
                make = HTTPSConnection if url.scheme == "https" else HTTPConnection
                connection = make(url.hostname or "", url.port, timeout=TIMEOUT_S)
                self._connections[key] = connection
            connection.request("POST", path, body, headers)
            reply = connection.getresponse()
            reply.read()
            return reply.status, reply.getheader("Location", "")
        except (OSError, HTTPException, ValueError):
            if (broken := self._connections.pop(key, None)) is not None:
                broken.close()
            return 0, ""


def _without_password(url: SplitResult) -> str:
    return url._replace(netloc=url.netloc.rpartition("@")[2]).geturl()


def _moved(here: SplitResult, location: str) -> SplitResult | None:
    if not location:
        return None
    try:
        there = urlsplit(urljoin(here.geturl(), location))
        known = there.scheme in ("http", "https") and there.hostname and there.port != 0
    except ValueError:
        return None
    return there if known else None
