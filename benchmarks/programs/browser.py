"""
A browser as far as the site is concerned: somebody signed in who asks for pages and posts forms.

`OverHttp` asks a web server; `InProcess` asks the site's own WSGI application in this process, all
of its middleware included, so that nothing but the answering is timed. Both come as through the
proxy that stands in front of a site: it speaks TLS with the world and says so.
"""

import io
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

HOST = "127.0.0.1"
# As long as Django's own. What a browser posts has to equal the cookie it was given.
TOKEN = "a" * 32
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Page:
    """What was answered, and after how many seconds all of it was there."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    took_s: float


def posted(fields: Mapping[str, str]) -> bytes:
    """A form's body, with the token that shows it to be the site's own."""
    return urlencode({**fields, "csrfmiddlewaretoken": TOKEN}).encode()


def cookies_of(session: str) -> str:
    """The cookies of somebody signed in."""
    return f"sessionid={session}; csrftoken={TOKEN}"


class OverHttp:
    """Asks a web server over one connection that stays open."""

    def __init__(self, address: str, session: str) -> None:
        import requests

        self._address = address
        self._line = requests.Session()
        self._line.trust_env = False  # an environment that names a proxy does not mean this one
        self._line.headers.update(
            {
                "Cookie": cookies_of(session),
                "X-Forwarded-Proto": "https",
                "Referer": address.replace("http://", "https://") + "/",
            }
        )

    def post(self, path: str, fields: Mapping[str, str]) -> Page:
        """Post a form; what it leads to is not gone to."""
        began = time.monotonic()
        answer = self._line.post(
            self._address + path,
            data=posted(fields),
            headers={"Content-Type": FORM},
            allow_redirects=False,
            timeout=120,
        )
        took_s = time.monotonic() - began
        return Page(answer.status_code, answer.headers, answer.content, took_s)


class InProcess:
    """Asks a WSGI application. What it answers is read to its end, as a server does."""

    def __init__(self, application: Callable[..., Iterable[bytes]], session: str) -> None:
        self._application = application
        self._environ: dict[str, Any] = {
            "SCRIPT_NAME": "",
            "SERVER_NAME": HOST,
            "SERVER_PORT": "443",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": HOST,
            "HTTP_HOST": HOST,
            "HTTP_COOKIE": cookies_of(session),
            "HTTP_X_FORWARDED_PROTO": "https",
            "HTTP_REFERER": f"https://{HOST}/",
            "wsgi.url_scheme": "https",
            "wsgi.errors": sys.stderr,
        }

    def get(self, path: str) -> Page:
        """Ask for a page."""
        return self._ask("GET", path, io.BytesIO(), 0, "")

    def poll(self, path: str) -> Page:
        """Ask as an open page does, by htmx."""
        self._environ["HTTP_HX_REQUEST"] = "true"
        try:
            return self.get(path)
        finally:
            del self._environ["HTTP_HX_REQUEST"]

    def post(self, path: str, body: bytes) -> Page:
        """Post a form's body as it is."""
        return self._ask("POST", path, io.BytesIO(body), len(body), FORM)

    def upload(self, path: str, body: io.BufferedIOBase, length: int, kind: str) -> Page:
        """Post what a file holds, of that content type."""
        return self._ask("POST", path, body, length, kind)

    def _ask(
        self, method: str, address: str, body: io.BufferedIOBase, length: int, kind: str
    ) -> Page:
        path, _, query = address.partition("?")
        environ = self._environ | {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_LENGTH": str(length),
            "CONTENT_TYPE": kind,
            "wsgi.input": body,
        }
        said: list[tuple[str, list[tuple[str, str]]]] = []

        def start(status: str, headers: list[tuple[str, str]], *_: object) -> None:
            said.append((status, headers))

        began = time.perf_counter()
        answer = self._application(environ, start)
        content = b"".join(answer)
        # Here a request ends: its line is logged, its connection is looked after.
        answer.close()  # type: ignore[attr-defined]
        took_s = time.perf_counter() - began
        status, headers = said[-1]
        return Page(int(status.split()[0]), dict(headers), content, took_s)
