"""Posting to a URL, following redirects as Postmark does."""

from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import SplitResult, urljoin, urlsplit

TIMEOUT_S = 10.0
# Postmark follows 3xx, and gives up after so many.
MAX_REDIRECTS = 10
REDIRECTS = (301, 302, 303, 307, 308)


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
                self._connections[key] = connect(url, TIMEOUT_S)
            self._connections[key].request("POST", path_of(url), body, headers)
            response = self._connections[key].getresponse()
            response.read()
            return response.status, response.getheader("Location", "")
        except (OSError, HTTPException, ValueError):
            if (broken := self._connections.pop(key, None)) is not None:
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


def _redirect(here: SplitResult, location: str) -> SplitResult | None:
    try:
        return read_url(urljoin(here.geturl(), location)) if location else None
    except ValueError:
        return None
