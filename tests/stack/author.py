"""An author before the whole stack: signs in through the proxy and publishes by the form."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any

import requests

PATIENCE_S = 75


@dataclass(frozen=True)
class PostedForm:
    """A form that was posted: its fields, what it was answered, and where the issue is watched."""

    fields: dict[str, str]
    answer: str


class Author:
    """One browser of one author."""

    def __init__(self, site: str, certificate: str) -> None:
        self._site = site
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify = certificate

    def _get(self, path: str) -> str:
        answer = self._session.get(self._site + path, timeout=PATIENCE_S)
        answer.raise_for_status()
        return answer.text

    def _post(self, path: str, fields: dict[str, str]) -> requests.Response:
        return self._session.post(
            self._site + path,
            data=fields,
            timeout=PATIENCE_S,
            allow_redirects=False,
            headers={"Referer": self._site + path},
        )

    def sign_in(self, username: str, password: str) -> None:
        """Through the login page."""
        token = hidden(self._get("/admin/login/"), "csrfmiddlewaretoken")
        fields = {"csrfmiddlewaretoken": token, "username": username, "password": password}
        answer = self._post("/admin/login/", fields)
        if answer.status_code != 302:
            raise RuntimeError(f"signing in was answered {answer.status_code}")

    def publish(self, title: str, letter: str) -> PostedForm:
        """Post the publishing form."""
        page = self._get("/admin/newsletters/")
        fields = {
            "csrfmiddlewaretoken": hidden(page, "csrfmiddlewaretoken"),
            "idempotency_key": hidden(page, "idempotency_key"),
            "title": title,
            "html_content": letter,
            "text_content": "",
        }
        answer = self._post("/admin/newsletters/", fields)
        if answer.status_code != 303:
            raise RuntimeError(f"publishing was answered {answer.status_code}")
        return PostedForm(fields, f"{answer.status_code} {answer.headers['Location']}")

    def knows(self, form: PostedForm, issue: str) -> dict[str, Any]:
        """What the visitors need to post it again, and to watch the issue."""
        cookies = "; ".join(f"{name}={value}" for name, value in self._session.cookies.items())
        return {
            "cookies": cookies,
            "form": form.fields,
            "answer": form.answer,
            "progress": f"/admin/newsletters/{issue}/progress.json",
        }


def hidden(page: str, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    if found is None:
        raise RuntimeError(f"the page has no field {name}")
    return html.unescape(found[1])
