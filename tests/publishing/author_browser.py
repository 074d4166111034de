"""A browser window of one author, for pages, forms and buttons."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from django.test import Client

FORM = "/admin/newsletters/"
_CHOSEN = ("radio", "checkbox")
LETTER = {
    "title": "Swifts leave without saying goodbye",
    "html_content": "<p>Dear {{ name|reader }},</p>\n<p>they have gone.</p>",
    "text_content": "Dear {{ name|reader }},\n\nthey have gone.\n",
}


@dataclass
class Form:
    """A form on a page: its action and its fields."""

    action: str
    enctype: str = ""
    fields: dict[str, str] = field(default_factory=dict)


@dataclass
class Page:
    """An answer of the server, read as a browser reads it."""

    answer: Any

    @property
    def status(self) -> int:
        return int(self.answer.status_code)

    @property
    def source(self) -> str:
        return str(self.answer.content.decode())

    @property
    def html(self) -> str:
        """The page's source as one line; next to tags, line breaks are removed."""
        return re.sub(r"\s*\n\s*", " ", re.sub(r"\s*\n\s*(?=<)|(?<=>)\s*\n\s*", "", self.source))

    @property
    def words(self) -> str:
        """The text that a wide window shows, without tags, with single spaces."""
        wide = re.sub(r'<wbr>|<span class="narrow-only[^>]*>[^<]*</span>', "", self.source)
        text = re.sub(r"<(script|style|title|defs)\b.*?</\1>|<[^>]+>", " ", wide, flags=re.S)
        return " ".join(html.unescape(text).split())

    @property
    def title(self) -> str:
        return html.unescape(re.search(r"<title>(.*?)</title>", self.html, re.S)[1])

    def form_with(self, name: str) -> Form:
        """Return the form of this page that has a field called `name`."""
        reader = _FormReader()
        reader.feed(self.source)
        return next(form for form in reader.forms if name in form.fields)

    def has_form_with(self, name: str) -> bool:
        reader = _FormReader()
        reader.feed(self.source)
        return any(name in form.fields for form in reader.forms)


class _FormReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._area: str | None = None
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("enctype", "")))
        elif tag == "input" and given.get("type") in _CHOSEN and "checked" not in given:
            pass  # a browser sends only the chosen value
        elif tag == "input" and "name" in given:
            otherwise = "on" if given.get("type") in _CHOSEN else ""
            self.forms[-1].fields[given["name"]] = given.get("value", otherwise)
        elif tag == "select" and "name" in given:
            self._select = given["name"]
        elif tag == "option" and self._select:
            fields = self.forms[-1].fields
            if "selected" in given or self._select not in fields:
                fields[self._select] = given.get("value", "")
        elif tag == "textarea" and "name" in given:
            self._area = given["name"]
            self.forms[-1].fields[self._area] = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.forms[-1].fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area:
            # Like a browser, drop the line end right after the tag `<textarea>`.
            fields = self.forms[-1].fields
            fields[self._area] = fields[self._area].removeprefix("\n")
            self._area = None


@dataclass
class WindowOf:
    """One author’s browser window, with https as on a site outside debug mode."""

    author: Any
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def __post_init__(self) -> None:
        if self.author is not None:
            self.client.force_login(self.author)

    def another(self) -> WindowOf:
        """Return another window with the same session."""
        other = WindowOf(None)
        other.author = self.author
        other.client.cookies["sessionid"] = self.client.cookies["sessionid"].value
        return other

    def get(self, address: str = FORM) -> Page:
        return Page(self.client.get(address, secure=True))

    def post(self, address: str = FORM, **fields: str) -> Page:
        return Page(self.client.post(address, fields, secure=True))

    def open_form(self) -> dict[str, str]:
        """Open the publishing form and return its fields with a letter."""
        return {**self.get().form_with("title").fields, **LETTER}

    def publish(self, **changes: str) -> Page:
        """Write a letter into a new publishing form and press its button."""
        return self.post(**{**self.open_form(), **changes})


def address(edition: Any, more: str = "") -> str:
    """Return the URL of an issue's progress page, or of a page below it."""
    return f"{FORM}{edition.issue_id}/{more}"
