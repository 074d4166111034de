"""
The only place that speaks HTTP with the site, the way a browser does: pages, cookies, forms.

The demo gets no way in that an author does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import requests

from newsletter_site.demo.failure import DemoError

TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the site answered; redirects are not followed."""

    status: int
    location: str
    retry_after_s: float
    html: str


class Browser:
    """One window of a browser. Windows opened from it are signed in as it is."""

    def __init__(self, site_url: str) -> None:
        self._site_url = site_url
        self._session = requests.Session()
        # Not by a proxy of the environment, and not with a password of a .netrc.
        self._session.trust_env = False
        # The web server would wait for an open connection before it ends.
        self._session.headers["Connection"] = "close"

    def window(self) -> Browser:
        """Another window with the same cookies and nothing else in common."""
        window = Browser(self._site_url)
        window._session.cookies.update(self._session.cookies)
        return window

    def open(self, address: str) -> Answer:
        """GET an address of the site, given with or without the site in front."""
        return self._answer("GET", address)

    def form(self, address: str, field: str) -> dict[str, str]:
        """
        The form at `address` that has `field`: its hidden and empty fields, by name.

        Raises `DemoError` if the page is not shown or has no such form.
        """
        answer = self.open(address)
        if answer.status != 200:
            raise DemoError(f"{address} answered {answer.status}; a page was expected.")
        for form in _Forms.in_page(answer.html):
            if field in form:
                return form
        raise DemoError(f"{address} has no form with a field {field!r}.")

    def send(self, address: str, fields: dict[str, str]) -> Answer:
        """POST a form."""
        return self._answer("POST", address, fields)

    def sign_in(self, username: str, password: str) -> None:
        """Sign in at the admin. Raises `DemoError` if that is refused."""
        address = "/admin/login/"
        form = self.form(address, "username")
        answer = self.send(address, {**form, "username": username, "password": password})
        if answer.status != 302:
            raise DemoError(f"The site does not let {username!r} sign in.")

    def _answer(self, method: str, address: str, fields: dict[str, str] | None = None) -> Answer:
        got = self._session.request(
            method,
            self._site_url + address.removeprefix(self._site_url),
            data=fields,
            timeout=TIMEOUT_S,
            allow_redirects=False,
        )
        return Answer(
            status=got.status_code,
            location=got.headers.get("Location", ""),
            retry_after_s=float(got.headers.get("Retry-After", 1)),
            html=got.text,
        )


class _Forms(HTMLParser):
    """Collects the fields of every form of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, str]] = []

    @classmethod
    def in_page(cls, html: str) -> list[dict[str, str]]:
        """The forms of a page, each as names and values."""
        parser = cls()
        parser.feed(html)
        return parser.forms

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given: dict[str, Any] = dict(attrs)
        if tag == "form":
            self.forms.append({})
        elif given.get("type") in ("checkbox", "radio") and "checked" not in given:
            return  # A browser sends nothing of a box that is not ticked.
        elif tag in ("input", "textarea") and self.forms and given.get("name"):
            self.forms[-1][given["name"]] = given.get("value") or ""
