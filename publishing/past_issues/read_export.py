"""Read the past issues of an export: Substack, Ghost, Buttondown or Homing.

The letters of a ZIP are read one by one."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from html import escape, unescape
from typing import IO, Any
from urllib.parse import urlsplit

from publishing.past_issues.own_export import SUMMARY, read_own_issues
from publishing.past_issues.past_issue import (
    LONGEST_LETTER,
    PICTURE_HOSTS,
    PastIssue,
    Product,
    Skip,
    SkipIssueError,
    UnusableExportError,
    parse_date,
    word_of,
)
from subscribers.files.zip_entries import UnusableZipError, ZipEntries

# Parsing JSON takes several times its size in memory.
LONGEST_LIST = 64 * 1024**2
MOST_ISSUES = 20_000
_ZIP = b"PK"
_GHOST_SITE = "__GHOST_URL__"
_MODE = "<!-- buttondown-editor-mode:"

Row = Mapping[str, Any]


class Export:
    """The issues of a file. `entries` is its ZIP, if it is one."""

    def __init__(self, file: IO[bytes], site: str = "") -> None:
        self.entries: ZipEntries | None = None
        self.site = site.rstrip("/")
        self._by_end: dict[str, str] = {}
        try:
            self.product, issues = self._read(file)
        except UnusableZipError as error:
            raise UnusableExportError("zip", str(error)) from None
        self.issues = sorted(
            issues, key=lambda one: one.published_at.timestamp() if one.published_at else 0
        )
        if not self.issues:
            raise UnusableExportError("empty")
        if len(self.issues) > MOST_ISSUES:
            raise UnusableExportError("too_many")
        if self.product is Product.GHOST and not urlsplit(self.site).hostname:
            raise UnusableExportError("site_missing")

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts from which images may be fetched."""
        own = {urlsplit(self.site).netloc.lower()} if self.product is Product.GHOST else set()
        return PICTURE_HOSTS[self.product] | own

    def letter_of(self, issue: PastIssue) -> str:
        """Return the letter of an issue. Raises `SkipIssueError`."""
        text = issue.source
        if self.product is Product.GHOST:
            text = text.replace(_GHOST_SITE, self.site)
        elif self.entries is not None:
            try:
                text = _text(self.entries.read(issue.source, LONGEST_LETTER))
            except UnusableZipError:
                raise SkipIssueError(Skip.UNREADABLE) from None
        if not text.strip():
            raise SkipIssueError(Skip.NO_LETTER)
        return text

    def _read(self, file: IO[bytes]) -> tuple[Product, list[PastIssue]]:
        file.seek(0)
        start = file.read(2)
        file.seek(0)
        if start != _ZIP:
            content = file.read(LONGEST_LIST + 1)
            if len(content) > LONGEST_LIST:
                raise UnusableExportError("too_large")
            return Product.GHOST, list(_ghost(_parse_json(content)))
        self.entries = entries = ZipEntries(file)
        self._by_end = {"/".join(path.split("/")[-2:]): path for path in entries.paths}
        if path := entries.find(SUMMARY):
            return Product.HOMING, read_own_issues(entries, path)
        if path := entries.find("posts.csv"):
            rows = _csv_rows(entries.read(path, LONGEST_LIST))
            return Product.SUBSTACK, [self._substack(row) for row in rows]
        if path := entries.find("emails.json"):
            rows = _parse_rows(entries.read(path, LONGEST_LIST))
            return Product.BUTTONDOWN, [self._buttondown(row) for row in rows]
        if path := entries.find("emails.csv"):
            rows = _csv_rows(entries.read(path, LONGEST_LIST))
            return Product.BUTTONDOWN, [self._buttondown(row) for row in rows]
        for path in entries.paths:
            if path.endswith(".json"):
                # Images lie beside the JSON, and the letters are in it.
                return Product.GHOST, list(_ghost(_parse_json(entries.read(path, LONGEST_LIST))))
        raise UnusableExportError("unknown")

    def _substack(self, row: Row) -> PastIssue:
        post = word_of(row, "post_id")
        number, _dot, slug = post.partition(".")
        path = self._find(f"posts/{post}.html")
        skip = _first(
            (word_of(row, "is_published").lower() != "true", Skip.DRAFT),
            (word_of(row, "type").lower() not in ("newsletter", "podcast"), Skip.NOT_AN_ISSUE),
            (word_of(row, "audience").lower() != "everyone", Skip.NOT_PUBLIC),
            (not path, Skip.NO_LETTER),
        )
        at = parse_date(row.get("post_date")) or parse_date(row.get("email_sent_at"))
        title, subtitle = (unescape(word_of(row, name)) for name in ("title", "subtitle"))
        return PastIssue(number, slug, title, subtitle, at, skip, path)

    def _buttondown(self, row: Row) -> PastIssue:
        slug = word_of(row, "slug")
        path = self._find(f"emails/{slug}.md")
        skip = _first(
            (not word_of(row, "publish_date"), Skip.DRAFT),
            # Without the column, nobody knows which are public.
            (word_of(row, "email_type").lower() not in ("public", "archival"), Skip.NOT_PUBLIC),
            (not path, Skip.NO_LETTER),
        )
        at, title = parse_date(row.get("publish_date")), word_of(row, "subject")
        return PastIssue(word_of(row, "id") or slug, slug, title, "", at, skip, path)

    def _find(self, end: str) -> str:
        """Return the path of a letter beside the list, whatever folder both are in."""
        return self._by_end.get(end, "")


def split_mode(markdown: str) -> tuple[str, bool]:
    """Return a letter of Buttondown without its first comment, and whether it is HTML."""
    text = markdown.lstrip("\ufeff \r\n\t")
    if not text.startswith(_MODE):
        return markdown, False
    mode, _end, rest = text[len(_MODE) :].partition("-->")
    return rest, mode.strip() == "fancy"


def _ghost(content: Any) -> Iterator[PastIssue]:
    databases = content.get("db") if isinstance(content, dict) else None
    whole = databases[0] if isinstance(databases, list) and databases else content
    data = whole.get("data") if isinstance(whole, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("posts"), list):
        raise UnusableExportError("unknown")
    metas = data.get("posts_meta")
    metas = [meta for meta in metas if isinstance(meta, dict)] if isinstance(metas, list) else []
    more = {word_of(meta, "post_id"): meta for meta in metas}
    for post in data["posts"]:
        if not isinstance(post, dict):
            continue
        meta = more.get(word_of(post, "id"), {})
        html = word_of(post, "html")
        skip = _first(
            (word_of(post, "type") == "page", Skip.NOT_AN_ISSUE),
            (word_of(post, "status") in ("draft", "scheduled"), Skip.DRAFT),
            # The status `sent` and `email_only` mean that the site never showed it.
            (word_of(post, "status") != "published", Skip.NOT_PUBLIC),
            (bool(meta.get("email_only")), Skip.NOT_PUBLIC),
            (word_of(post, "visibility") != "public", Skip.NOT_PUBLIC),
            (not html, Skip.NO_LETTER),
        )
        if picture := word_of(post, "feature_image"):
            html = _picture(picture, word_of(meta, "feature_image_alt")) + html
        yield PastIssue(
            word_of(post, "id"),
            word_of(post, "slug"),
            word_of(post, "title"),
            word_of(post, "custom_excerpt"),
            parse_date(post.get("published_at")),
            skip,
            html,
        )


def _picture(address: str, alt: str) -> str:
    return f'<p><img src="{escape(address)}" alt="{escape(alt)}"></p>'


def _first(*reasons: tuple[bool, Skip]) -> Skip | None:
    return next((reason for holds, reason in reasons if holds), None)


def _text(content: bytes) -> str:
    return content.decode("utf-8-sig", "replace").replace("\0", "")


def _parse_json(content: bytes) -> Any:
    try:
        return json.loads(_text(content))
    except (ValueError, RecursionError):
        raise UnusableExportError("unknown") from None


def _parse_rows(content: bytes) -> list[Row]:
    rows = _parse_json(content)
    if not isinstance(rows, list):
        raise UnusableExportError("unknown")
    return [row for row in rows if isinstance(row, dict)]


def _csv_rows(content: bytes) -> list[Row]:
    text = _text(content)
    header = text.partition("\n")[0]
    # Excel saves with semicolons in many countries.
    separator = ";" if header.count(";") > header.count(",") else ","
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
        reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
        return list(reader)
    except csv.Error:
        raise UnusableExportError("unknown") from None
