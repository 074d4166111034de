"""The only place that leaves as a mailbox provider would: whether a mail offers one-click
unsubscribing as RFC 8058 wants it, and the POST itself.

What RFC 8058 asks of the signature cannot be judged here: nothing that stays on this machine is
signed. The two headers must be covered by Postmark's DKIM signature.
"""

import re
import socket
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from threading import Timer
from urllib.parse import SplitResult, urlsplit

# RFC 8058, section 3.1: the one value, and what a POST carries.
VALUE = "List-Unsubscribe=One-Click"
BOUNDARY = "one-click-unsubscribe"
MULTIPART = "multipart/form-data"
URLENCODED = "application/x-www-form-urlencoded"
PARTS = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\n'
    f"One-Click\r\n--{BOUNDARY}--\r\n"
)
# The type to ask for: the Content-Type and the body.
ENCODINGS = {
    MULTIPART: (f"{MULTIPART}; boundary={BOUNDARY}", PARTS),
    URLENCODED: (URLENCODED, VALUE),
}
# The whole of a call, from the first byte to the status.
TIMEOUT_S = 10.0
# RFC 2369, section 2: URIs in angle brackets between commas, with white space and comments.
LIST_OF_URIS = re.compile(r"\s*<[^<>]+>(?:\s*,\s*<[^<>]+>)*\s*")
URI = re.compile(r"<([^<>]+)>")
COMMENT = re.compile(r"(>|,|^)\s*\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Offer:
    """What a mail says about leaving: the web address to post to, None without exactly one, and
    what is against RFC 8058, one sentence each."""

    url: str | None
    problems: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether a mailbox provider may show its button."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a POST: the status, None without one, and in words."""

    status: int | None
    sentence: str

    @property
    def works(self) -> bool:
        """Whether the sender took it."""
        return self.status is not None and 200 <= self.status < 300


def offer_of(headers: list[tuple[str, str]]) -> Offer:
    """Reads the two headers of a mail; `headers` are all of its headers, in order."""
    links = _values(headers, "List-Unsubscribe")
    posts = _values(headers, "List-Unsubscribe-Post")
    problems: list[str] = []
    url = None
    if len(links) == 1:
        url, problems = _read_link(links[0])
    else:
        problems.append(_wanted_one("List-Unsubscribe", len(links)))
    if len(posts) != 1:
        problems.append(_wanted_one("List-Unsubscribe-Post", len(posts)))
    elif posts[0] != VALUE:
        problems.append(f"List-Unsubscribe-Post is “{posts[0]}”; expected exactly “{VALUE}”.")
    return Offer(url, tuple(problems))


def try_it(offer: Offer, encoding: str, timeout_s: float = TIMEOUT_S) -> Tried:
    """Posts as a mailbox provider does: nothing but the one value, no cookies, no redirect
    followed. Only to this machine, only where the headers are valid, and not for longer than
    `timeout_s`."""
    if encoding not in ENCODINGS:
        known = " or ".join(ENCODINGS)
        raise ValueError(f"'encoding' is '{encoding}'; expected {known}.")
    if not offer.valid or offer.url is None:
        return Tried(None, "Nothing was posted: a mailbox provider would show no button here.")
    parts = urlsplit(offer.url)
    if not _is_this_machine(parts.hostname):
        return Tried(
            None,
            f"Nothing was posted: the link leads to {parts.hostname}, and the sandbox posts to "
            "this machine only.",
        )
    try:
        return _in_words(_posted(parts, *ENCODINGS[encoding], timeout_s))
    except (OSError, HTTPException) as wrong:
        return Tried(None, f"No answer came from {parts.netloc}: {wrong or type(wrong).__name__}.")


def _values(headers: list[tuple[str, str]], name: str) -> list[str]:
    return [value.strip() for found, value in headers if found.lower() == name.lower()]


def _wanted_one(name: str, count: int) -> str:
    found = f"There is no {name} header" if count == 0 else f"There are {count} {name} headers"
    return f"{found}; expected exactly one."


def _read_link(value: str) -> tuple[str | None, list[str]]:
    plain = COMMENT.sub(r"\1", value)
    if not LIST_OF_URIS.fullmatch(plain):
        expected = "expected addresses in angle brackets with commas between them"
        return None, [f"List-Unsubscribe is “{value}”; {expected}."]
    links = [uri for uri in URI.findall(plain) if _scheme(uri) in ("http", "https")]
    if len(links) != 1:
        count = f"{len(links)} web addresses" if links else "no web address"
        return None, [f"List-Unsubscribe has {count}; expected exactly one that begins https:."]
    url = links[0]
    return url, _problems_of(url)


def _problems_of(url: str) -> list[str]:
    parts = _read(url)
    if parts is None:
        return [f"The address “{url}” cannot be read; expected https://host/path."]
    problems = []
    if parts.scheme == "http" and not _is_this_machine(parts.hostname):
        problems.append(f"The address begins http:; expected https:, to {parts.hostname}.")
    if "@" in parts.netloc:
        problems.append("The address holds a user name; a one-click POST signs in nowhere.")
    return problems


def _scheme(uri: str) -> str:
    return uri.partition(":")[0].strip().lower()


def _read(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        readable = parts.hostname and parts.port != 0 and url.isascii()
    except ValueError:
        return None
    return parts if readable and not re.search(r"\s", url) else None


def _is_this_machine(host: str | None) -> bool:
    try:
        return host is not None and (host == "localhost" or ip_address(host).is_loopback)
    except ValueError:
        return False


def _posted(parts: SplitResult, content_type: str, body: str, timeout_s: float) -> tuple[int, str]:
    make = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    made = make(parts.hostname or "", parts.port, timeout=timeout_s)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        with _Deadline(made, timeout_s):
            made.request("POST", path, body.encode(), {"Content-Type": content_type})
            reply = made.getresponse()
            return reply.status, reply.getheader("Location", "")
    finally:
        made.close()


class _Deadline:
    """Cuts a connection in the middle once its time is up: a socket's own timeout starts anew with
    every byte that trickles in."""

    def __init__(self, connection: HTTPConnection, seconds: float) -> None:
        self._connection = connection
        self._timer = Timer(seconds, self._cut)
        self._timer.daemon = True
        self._passed = False
        self._socket: socket.socket | None = None

    def __enter__(self) -> None:
        self._connection.connect()
        self._socket = self._connection.sock
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._passed:
            raise TimeoutError("its answer was not whole in time")

    def _cut(self) -> None:
        self._passed = True
        try:
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


def _in_words(answer: tuple[int, str]) -> Tried:
    status, location = answer
    if 200 <= status < 300:
        return Tried(status, f"Answered {status}: it works.")
    if 300 <= status < 400:
        where = f" to {location}" if location else ""
        return Tried(
            status, f"Answered {status}, a redirect{where}: RFC 8058 forbids it; not followed."
        )
    return Tried(status, f"Answered {status}; expected 200 or 202.")
