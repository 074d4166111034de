"""Unsubscribing as a mailbox provider would: whether a mail offers it by RFC 8058, and the POST.

Nothing on this machine is signed, so the signature that RFC 8058 asks for cannot be judged.
"""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from threading import Timer
from urllib.parse import SplitResult, urlsplit

from postmark_sandbox.http import connect, is_loopback, path_of, read_url

# RFC 8058, section 3.1: the one value, and the body of a POST.
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
# For the whole call, from the first byte to the status.
TIMEOUT_S = 10.0
# RFC 2369, section 2: URIs in angle brackets between commas, with white space and comments.
LIST_OF_URIS = re.compile(r"\s*<[^<>]+>(?:\s*,\s*<[^<>]+>)*\s*")
URI = re.compile(r"<([^<>]+)>")
COMMENT = re.compile(r"(>|,|^)\s*\([^()]*\)")
WEB = re.compile(r"\s*https?\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OneClickLink:
    """The web address to post to, None without exactly one, and what is against RFC 8058."""

    url: str | None
    problems: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether a mailbox provider may show its button."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class OneClickResult:
    """The result of a POST: the status, None without one, and a sentence."""

    status: int | None
    sentence: str

    @property
    def works(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def read_link(headers: list[tuple[str, str]]) -> OneClickLink:
    """Read the two headers of a mail among all of its headers."""
    problems: list[str] = []
    found: dict[str, str] = {}
    for name in ("List-Unsubscribe", "List-Unsubscribe-Post"):
        values = [value.strip() for own, value in headers if own.lower() == name.lower()]
        if len(values) == 1:
            found[name] = values[0]
            continue
        there = f"are {len(values)} {name} headers" if values else f"is no {name} header"
        problems.append(f"There {there}; expected exactly one.")
    url = None
    if "List-Unsubscribe" in found:
        url, wrong_link = _read_uri(found["List-Unsubscribe"])
        problems = wrong_link + problems
    post = found.get("List-Unsubscribe-Post", VALUE)
    if post != VALUE:
        problems.append(f"List-Unsubscribe-Post is “{post}”; expected exactly “{VALUE}”.")
    return OneClickLink(url, tuple(problems))


def unsubscribe(offer: OneClickLink, encoding: str, timeout_s: float = TIMEOUT_S) -> OneClickResult:
    """Post as a mailbox provider does, if the headers are valid, and to this machine only."""
    if encoding not in ENCODINGS:
        known = " or ".join(ENCODINGS)
        raise ValueError(f"'encoding' is '{encoding}'; expected {known}.")
    if not offer.valid or offer.url is None:
        nothing = "Nothing was posted: a mailbox provider would show no button here."
        return OneClickResult(None, nothing)
    url = urlsplit(offer.url)
    if not is_loopback(url.hostname):
        nothing = f"Nothing was posted: the link leads to {url.hostname}, and the sandbox posts to"
        return OneClickResult(None, f"{nothing} this machine only.")
    try:
        status, location = _post(url, *ENCODINGS[encoding], timeout_s)
    except (OSError, HTTPException) as wrong:
        reason = str(wrong) or type(wrong).__name__
        return OneClickResult(None, f"No answer came from {url.netloc}: {reason}.")
    sentence = f"Answered {status}; expected 200 or 202."
    if 200 <= status < 300:
        sentence = f"Answered {status}: it works."
    elif 300 <= status < 400:
        where = f" to {location}" if location else ""
        sentence = f"Answered {status}, a redirect{where}: RFC 8058 forbids it; not followed."
    return OneClickResult(status, sentence)


def _read_uri(value: str) -> tuple[str | None, list[str]]:
    plain = COMMENT.sub(r"\1", value)
    if not LIST_OF_URIS.fullmatch(plain):
        expected = "expected addresses in angle brackets with commas between them"
        return None, [f"List-Unsubscribe is “{value}”; {expected}."]
    links = [uri for uri in URI.findall(plain) if WEB.match(uri)]
    if len(links) != 1:
        count = f"{len(links)} web addresses" if links else "no web address"
        return None, [f"List-Unsubscribe has {count}; expected exactly one that begins https:."]
    url = links[0]
    parts = read_url(url)
    if parts is None or not url.isascii() or re.search(r"\s", url):
        return url, [f"The address “{url}” cannot be read; expected https://host/path."]
    problems = []
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        problems.append(f"The address begins http:; expected https:, to {parts.hostname}.")
    if "@" in parts.netloc:
        problems.append("The address holds a user name; a one-click POST signs in nowhere.")
    return url, problems


def _post(url: SplitResult, content_type: str, body: str, timeout_s: float) -> tuple[int, str]:
    connection = connect(url, timeout_s)
    try:
        with _deadline(connection, timeout_s):
            headers = {"Content-Type": content_type}
            connection.request("POST", path_of(url), body.encode(), headers)
            response = connection.getresponse()
            return response.status, response.getheader("Location", "")
    finally:
        connection.close()


@contextmanager
def _deadline(connection: HTTPConnection, seconds: float) -> Iterator[None]:
    """Cut a connection once its time is up; a socket's own timeout starts anew with every byte."""
    connection.connect()
    open_socket = connection.sock
    passed: list[bool] = []

    def cut() -> None:
        passed.append(True)
        with suppress(OSError):
            open_socket.shutdown(socket.SHUT_RDWR)

    timer = Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if passed:
            raise TimeoutError("its answer was not whole in time")
