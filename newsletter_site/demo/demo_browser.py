"""Use the site over HTTP as an author's browser does."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import requests

FORM = "/admin/newsletters/"
LOGIN = "/admin/login/"
TIMEOUT_S = 60.0
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


class Browser:
    """A browser window that does not follow redirects. `url` has no slash at its end."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.session = requests.Session()
        # Ignore proxies from the environment and passwords from a .netrc file.
        self.session.trust_env = False
        # Close each connection after its answer, because the web server waits for open connections
        # when it ends.
        self.session.headers["Connection"] = "close"

    def open(self, path: str) -> requests.Response:
        return self.session.get(self.url + path, timeout=TIMEOUT_S, allow_redirects=False)

    def hidden_fields(self, path: str) -> dict[str, str]:
        """GET a page and return the hidden fields of its forms, such as the CSRF token."""
        return dict(_HIDDEN.findall(self.open(path).text))

    def send(self, path: str, fields: dict[str, str]) -> requests.Response:
        return self.session.post(self.url + path, fields, timeout=TIMEOUT_S, allow_redirects=False)

    def sign_in(self, username: str, password: str) -> None:
        """Sign in at the admin. Raise `PermissionError` if the site refuses."""
        fields = {"username": username, "password": password}
        if self.send(LOGIN, self.hidden_fields(LOGIN) | fields).status_code != 302:
            raise PermissionError(f"The site refused to sign {username!r} in.")


class Post(NamedTuple):
    """The site's answer to one posted form."""

    status: int
    location: str
    seconds: float


def post_twice(browser: Browser, fields: dict[str, str]) -> tuple[str, Post, Post]:
    """Post one form from two windows at the same moment.

    Return the form's key and both results.
    """
    form = browser.hidden_fields(FORM) | fields
    start = threading.Barrier(2)

    def press(_: int) -> Post:
        window = Browser(browser.url)
        window.session.cookies.update(browser.session.cookies)
        start.wait(TIMEOUT_S)
        began_at = time.monotonic()
        answer = window.send(FORM, form)
        location = answer.headers.get("Location", "")
        return Post(answer.status_code, location, time.monotonic() - began_at)

    with ThreadPoolExecutor(2) as presses:
        first, second = presses.map(press, range(2))
    return form["idempotency_key"], first, second
