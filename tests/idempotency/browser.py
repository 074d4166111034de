"""A browser of an author, as far as the printing site needs one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.test import Client


@dataclass
class Browser:
    """One window of one author's browser. `post` sends the form of the printing site."""

    client: Client
    author: Any
    url: str = "/leaflets/"

    def window(self, **options: Any) -> Browser:
        """
        Open another window: the same session, nothing else in common.

        An exception in the view shows as 500. (Django's client would raise it, and in another
        thread's request as well.)
        """
        client = Client(raise_request_exception=False, **options)
        client.cookies["sessionid"] = self.client.cookies["sessionid"].value
        return Browser(client, self.author, self.url)

    def post(self, key: str | None = "a-key", header: str | None = None, **fields: Any) -> Any:
        """Post the form over https, with the key in the field, in the header, or in neither."""
        data = {"title": "Hello", "text": "World", **fields}
        if key is not None:
            data["idempotency_key"] = key
        headers = {"Referer": "https://testserver/leaflets/"}
        if header is not None:
            headers["Idempotency-Key"] = header
        return self.client.post(self.url, data, headers=headers, secure=True)

    def next_page(self) -> Any:
        """Open the page that shows the messages, and return the answer."""
        return self.client.get("/printed/", secure=True)

    def messages(self) -> list[Any]:
        """Open the next page and return the messages that it shows: level, text, tags."""
        shown: list[Any] = self.next_page().json()["messages"]
        return shown
