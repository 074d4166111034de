"""Signed-in users, and their simple browsers: get pages and post forms.

`OverHttp` calls a web server. `InProcess` calls the site's own WSGI application in this process,
with all middleware. So the measured time does not include opening a connection. Both
classes send the header of a TLS proxy.
"""

import io
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from benchmarks.letter import LETTER
from benchmarks.site.site import Site
from benchmarks.site.within_site import begin, within

PUBLISHERS, MANAGERS = "Publishers", "Managers of readers"
DESK = "/admin/newsletters/"
# The fields of the publishing form, without the key.
ISSUE = {"title": "Swifts", "preheader": "", "html_content": LETTER, "text_content": ""}
HOST = "127.0.0.1"
# A CSRF token as long as Django's own. The posted token must be equal to the cookie.
TOKEN = "a" * 32
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Page:
    """An answer, and the seconds until it was complete."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    took_s: float


def sessions_of(site: Site, people: int, group: str = PUBLISHERS) -> list[str]:
    """Return session keys of new, signed-in users of a group."""
    return list(within(site, sign_in, people, group))


def sign_in(people: int, group: str) -> list[str]:
    """Create users and sign them in.

    Permissions come from the group, as on a real site, so reading the permissions costs the same.
    """
    begin()
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group
    from django.test import Client
    from django.utils.text import slugify

    def session_of(number: int) -> str:
        person = get_user_model().objects.create_user(
            f"{slugify(group)}-{number}", password=None, is_staff=True
        )
        person.groups.add(Group.objects.get(name=group))
        client = Client()
        client.force_login(person)
        return client.cookies["sessionid"].value

    return [session_of(number) for number in range(people)]


def posted(fields: Mapping[str, str]) -> bytes:
    """Return a form's body with its CSRF token."""
    return urlencode({**fields, "csrfmiddlewaretoken": TOKEN}).encode()


def cookies_of(session: str) -> str:
    """Return the cookies of a signed-in user."""
    return f"sessionid={session}; csrftoken={TOKEN}"


class OverHttp:
    """A client of a web server over one connection that stays open."""

    def __init__(self, address: str, session: str) -> None:
        import requests

        self._address = address
        self._line = requests.Session()
        self._line.trust_env = False  # ignore proxies that the environment names
        self._line.headers.update(
            {
                "Cookie": cookies_of(session),
                "X-Forwarded-Proto": "https",
                "Referer": address.replace("http://", "https://") + "/",
            }
        )

    def post(self, path: str, fields: Mapping[str, str]) -> Page:
        """Post a form; do not follow the redirect."""
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
    """A client of a WSGI application; it reads answers to their end, as servers do."""

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
        """Get a page."""
        return self._ask("GET", path, io.BytesIO(), 0, "")

    def poll(self, path: str) -> Page:
        """Request a page's update, as an open page does with htmx."""
        self._environ["HTTP_HX_REQUEST"] = "true"
        try:
            return self.get(path)
        finally:
            del self._environ["HTTP_HX_REQUEST"]

    def post(self, path: str, body: bytes) -> Page:
        """Post a form's body as it is."""
        return self._ask("POST", path, io.BytesIO(body), len(body), FORM)

    def upload(self, path: str, body: io.BufferedIOBase, length: int, kind: str) -> Page:
        """Post a file's content with its content type."""
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
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start(status: str, headers: list[tuple[str, str]], *_: object) -> None:
            started.append((status, headers))

        began = time.perf_counter()
        answer = self._application(environ, start)
        content = b"".join(answer)
        # Close the answer to end the request: Django then logs a line and checks the connection.
        answer.close()  # type: ignore[attr-defined]
        took_s = time.perf_counter() - began
        status, headers = started[-1]
        return Page(int(status.split()[0]), dict(headers), content, took_s)
