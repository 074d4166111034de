"""Links of a page to itself: the reader of a note or finding is already there."""

from html.parser import HTMLParser
from urllib.parse import urljoin

# Links of pages to their own address, each with its reason.
ALLOWED = {
    "Refresh": "loads what has changed",
    "request the link again": "opens the form of which this page is the answer",
    "Use the other version": "opens the saved draft, of which this page shows another version",
}


def own_links(html: str, url: str) -> set[str]:
    """Return the texts of links in the main part of the page at `url` to that page."""
    page = _OwnLinks(url)
    page.feed(html)
    return page.found - ALLOWED.keys()


class _OwnLinks(HTMLParser):
    """Reads the main part without navigation and links to a place in the page."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._url = url
        self._inside: list[str] = []
        self._text: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        its = dict(attrs)
        if tag in ("main", "nav") or its.get("class") == "crumb":
            self._inside.append(tag)
        href = its.get("href") or ""
        is_link = tag == "a" and href and "#" not in href and "aria-current" not in its
        if is_link and self._inside[-1:] == ["main"] and urljoin(self._url, href) == self._url:
            self._text = []

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._inside[-1:] == [tag]:
            self._inside.pop()
        if tag == "a" and self._text is not None:
            self.found.add("".join(self._text).strip())
            self._text = None
