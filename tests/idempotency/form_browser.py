"""A window of an author's browser, for the site `one_form_site`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.test import Client


@dataclass
class Window:
    """A window of an author's browser. `post` sends the form of `one_form_site`."""

    client: Client
    author: Any
    url: str = "/leaflets/"

    def another(self, **options: Any) -> Window:
        """Open another window with the same session.

        If a view raises an exception, this window gets a page with status 500. By default, Django's
        client would raise the exception, also for a request in another thread.
        """
        client = Client(raise_request_exception=False, **options)
        client.cookies["sessionid"] = self.client.cookies["sessionid"].value
        return Window(client, self.author, self.url)

    def post(self, key: str | None = "a-key", header: str | None = None, **fields: Any) -> Any:
        """Post the form, with the key in the field, in the header, or in neither."""
        data = {"title": "Hello", "text": "World", **fields}
        if key is not None:
            data["idempotency_key"] = key
        headers = {} if header is None else {"Idempotency-Key": header}
        return self.client.post(self.url, data, headers=headers)

    def next_page(self) -> Any:
        """Open the page that shows the messages, and return the answer."""
        return self.client.get("/printed/")

    def messages(self) -> list[Any]:
        """Open the next page and return the messages that it shows: level, text, tags."""
        shown: list[Any] = self.next_page().json()["messages"]
        return shown
