"""Read the past issues of an export from Substack, Ghost, Buttondown or Homing.

Rows and letters are read one by one, and limits are checked before values fill the memory.
"""

import csv
import io
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from html import escape, unescape
from typing import IO, Any, TypeVar
from urllib.parse import urlsplit

from delivery.humanise import digits
from delivery.issue_attributes import PREVIEW_TEXT, TITLE
from publishing.past_issues.own_export import SUMMARY, read_own_issues
from publishing.past_issues.past_issue import (
    LONGEST_LETTER,
    MOST_CHARACTERS,
    MOST_ISSUES,
    PICTURE_HOSTS,
    PastIssue,
    Product,
    Skip,
    SkipIssueError,
    UnusableExportError,
    parse_date,
    word_of,
)
from publishing.past_issues.read_json import JSONFile, JSONFormatError
from subscribers.files.zip_entries import UnusableZipError, ZipEntries

LONGEST_LIST = 64 * 1024**2
LONGEST_ROW = 256 * 1024  # characters of a row in a CSV file
# The largest size of all titles and descriptions together, because they stay in memory until the
# move ends.
MOST_WORDS = 8_000_000  # characters
_LONGEST_WORD = 8_000  # bytes in JSON
_LONGEST_ADDRESS = 200  # characters of a key or an address
_COLUMNS = frozenset({
    "post_id", "is_published", "type", "audience", "post_date", "email_sent_at", "title",
    "subtitle", "id", "slug", "subject", "publish_date", "email_type",
})  # fmt: skip
_BUTTONDOWN_WORDS = (b"id", b"slug", b"subject", b"publish_date", b"email_type")
_GHOST_WORDS = (
    *(b"id", b"type", b"status", b"visibility"),
    *(b"slug", b"title", b"custom_excerpt", b"published_at"),
)
_ZIP = b"PK"
_GHOST_SITE = "__GHOST_URL__"
_MODE = "<!-- buttondown-editor-mode:"

Row = Mapping[str, Any]
Kept = TypeVar("Kept", PastIssue, tuple[str, tuple[bool, str]])


class Export:
    """The past issues of a file. If the file is a ZIP, `entries` are its files."""

    def __init__(self, file: IO[bytes], site: str = "") -> None:
        self.entries: ZipEntries | None = None
        self.site = site.rstrip("/")
        self._by_end: dict[str, str] = {}  # paths of files by their last two parts
        # Only Ghost exports use `_json` and `_metas`. `_json` is the JSON file. `_metas` has facts
        # from the file's `posts_meta`, which lists only some of the posts.
        self._json: JSONFile | None = None
        self._metas: dict[str, tuple[bool, str]] = {}
        try:
            self.product, issues = self._read(file)
            self.issues = sorted(
                _bounded(issues),
                key=lambda one: one.published_at.timestamp() if one.published_at else 0,
            )
        except UnusableZipError as error:
            raise UnusableExportError("zip", detail=str(error)) from None
        except (JSONFormatError, csv.Error):
            raise UnusableExportError("unknown") from None
        if not self.issues:
            raise UnusableExportError("empty")
        if self.product is Product.GHOST and not urlsplit(self.site).hostname:
            raise UnusableExportError("site_missing")

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts from which images may be fetched."""
        if self.product is Product.GHOST:
            return frozenset({urlsplit(self.site).netloc.lower()})
        return PICTURE_HOSTS.get(self.product, frozenset())

    def letter_of(self, issue: PastIssue) -> str:
        """Return the letter of an issue. Raises `SkipIssueError`."""
        text = ""
        try:
            if self._json is not None:
                text = self._ghost_letter(self._json, issue)
            elif self.entries is not None:
                letter = self.entries.read(issue.source, LONGEST_LETTER)
                text = letter.decode("utf-8-sig", "replace").replace("\0", "")
        except (UnusableZipError, JSONFormatError):
            # The letter's part of the file is read only now, and may be damaged or too large.
            raise SkipIssueError(Skip.UNREADABLE) from None
        if len(text) > MOST_CHARACTERS:
            raise SkipIssueError(Skip.TOO_LONG)
        if not text.strip():
            raise SkipIssueError(Skip.NO_LETTER)
        return text

    def _read(self, file: IO[bytes]) -> tuple[Product, Iterable[PastIssue]]:
        file.seek(0)
        start = file.read(2)
        if start != _ZIP:
            if file.seek(0, 2) > LONGEST_LIST:
                raise UnusableExportError("too_large")
            return Product.GHOST, self._ghost(JSONFile(file))
        self.entries = entries = ZipEntries(file)
        if path := entries.find(SUMMARY):
            return Product.HOMING, read_own_issues(entries, path)
        self._by_end = {"/".join(path.split("/")[-2:]): path for path in entries.paths}
        if path := entries.find("posts.csv"):
            return Product.SUBSTACK, map(self._substack, _csv_rows(entries, path))
        if path := entries.find("emails.json"):
            return Product.BUTTONDOWN, map(self._buttondown, _json_rows(_unpacked(entries, path)))
        if path := entries.find("emails.csv"):
            return Product.BUTTONDOWN, map(self._buttondown, _csv_rows(entries, path))
        for path in entries.paths:
            if path.endswith(".json"):
                # A Ghost export has the letters in a JSON file, and images beside that file.
                return Product.GHOST, self._ghost(_unpacked(entries, path))
        raise UnusableExportError("unknown")

    def _substack(self, row: Row) -> PastIssue:
        post = word_of(row, "post_id")[:_LONGEST_ADDRESS]
        number, _dot, slug = post.partition(".")
        path = self._by_end.get(f"posts/{post}.html", "")
        skip = _first(
            (word_of(row, "is_published").lower() != "true", Skip.DRAFT),
            (word_of(row, "type").lower() not in ("newsletter", "podcast"), Skip.NOT_AN_ISSUE),
            (word_of(row, "audience").lower() != "everyone", Skip.NOT_PUBLIC),
            (not path, Skip.NO_LETTER),
        )
        at = parse_date(row.get("post_date")) or parse_date(row.get("email_sent_at"))
        title, subtitle = (unescape(word_of(row, name)) for name in ("title", "subtitle"))
        return _issue(number, slug, title, subtitle, at, skip, path)

    def _buttondown(self, row: Row) -> PastIssue:
        slug = word_of(row, "slug")[:_LONGEST_ADDRESS]
        path = self._by_end.get(f"emails/{slug}.md", "")
        skip = _first(
            (not word_of(row, "publish_date"), Skip.DRAFT),
            # Without the column `email_type`, nobody knows which emails are public, so skip all
            # emails.
            (word_of(row, "email_type").lower() not in ("public", "archival"), Skip.NOT_PUBLIC),
            (not path, Skip.NO_LETTER),
        )
        at, title = parse_date(row.get("publish_date")), word_of(row, "subject")
        return _issue(word_of(row, "id") or slug, slug, title, "", at, skip, path)

    def _ghost(self, content: JSONFile) -> Iterator[PastIssue]:
        self._json = content
        databases = content.member(content.root, b"db")
        whole = next(content.elements(databases), content.root)
        data = content.member(whole, b"data")
        posts = content.member(data, b"posts")
        if not content.is_array(posts):
            raise UnusableExportError("unknown")
        self._metas = dict(_bounded(_ghost_metas(content, content.member(data, b"posts_meta"))))
        for number, post in enumerate(content.elements(posts)):
            if number >= MOST_ISSUES:
                raise UnusableExportError("too_many")
            row = content.scalars(post, *_GHOST_WORDS, longest=_LONGEST_WORD)
            letter = content.scalars(post, b"html", longest=LONGEST_LETTER)
            is_mail_only, _alt = self._metas.get(word_of(row, "id"), (False, ""))
            skip = _first(
                (word_of(row, "type") == "page", Skip.NOT_AN_ISSUE),
                (word_of(row, "status") in ("draft", "scheduled"), Skip.DRAFT),
                # The status `sent` and the flag `email_only` each mean that Ghost never showed the
                # post on the web.
                (word_of(row, "status") != "published", Skip.NOT_PUBLIC),
                (is_mail_only, Skip.NOT_PUBLIC),
                (word_of(row, "visibility") != "public", Skip.NOT_PUBLIC),
                (letter.get("html", "") is None, Skip.TOO_LONG),
                (not word_of(letter, "html"), Skip.NO_LETTER),
            )
            key, slug, title, summary = (
                word_of(row, name) for name in ("id", "slug", "title", "custom_excerpt")
            )
            at = parse_date(row.get("published_at"))
            yield _issue(key, slug, title, summary, at, skip, str(post))

    def _ghost_letter(self, content: JSONFile, issue: PastIssue) -> str:
        post = int(issue.source)
        text = word_of(content.scalars(post, b"html", longest=LONGEST_LETTER), "html")
        added = max(0, len(self.site) - len(_GHOST_SITE)) * text.count(_GHOST_SITE)
        if len(text) + added > MOST_CHARACTERS:
            raise SkipIssueError(Skip.TOO_LONG)
        picture = word_of(
            content.scalars(post, b"feature_image", longest=_LONGEST_WORD), "feature_image"
        )
        if text and picture:
            _is_mail_only, alt = self._metas.get(issue.key, (False, ""))
            text = f'<p><img src="{escape(picture)}" alt="{escape(alt)}"></p>{text}'
        return text.replace(_GHOST_SITE, self.site)


def split_mode(markdown: str) -> tuple[str, bool]:
    """Return a Buttondown letter without its mode comment, and whether it is HTML."""
    text = markdown.lstrip("\ufeff \r\n\t")
    if not text.startswith(_MODE):
        return markdown, False
    mode, _end, rest = text[len(_MODE) :].partition("-->")
    return rest, mode.strip() == "fancy"


def _bounded(found: Iterable[Kept]) -> Iterator[Kept]:
    """Yield the values, with limits, because they stay in memory until the move ends.

    Raises `UnusableExportError` if there are too many values, or their texts are too long.
    """
    words = 0
    for number, one in enumerate(found, 1):
        texts = (one.key, one.slug, one.title, one.subtitle) if isinstance(one, PastIssue) else one
        words += sum(len(text) for text in texts if isinstance(text, str))
        if number > MOST_ISSUES or words > MOST_WORDS:
            raise UnusableExportError("too_many")
        yield one


def _issue(
    key: str,
    slug: str,
    title: str,
    subtitle: str,
    at: datetime | None,
    skip: Skip | None,
    source: str,
) -> PastIssue:
    # Cut long texts now, to save memory: the texts are cut anyway when they are stored.
    return PastIssue(
        key[:_LONGEST_ADDRESS],
        slug[:_LONGEST_ADDRESS],
        title[: TITLE.longest + 1],
        subtitle[: PREVIEW_TEXT.longest + 1],
        at,
        skip,
        source,
    )


def _ghost_metas(content: JSONFile, metas: int | None) -> Iterator[tuple[str, tuple[bool, str]]]:
    names = (b"post_id", b"email_only", b"feature_image_alt")
    for meta in content.elements(metas):
        row = content.scalars(meta, *names, longest=_LONGEST_WORD)
        alt = word_of(row, "feature_image_alt")[: TITLE.longest]
        yield word_of(row, "post_id")[:_LONGEST_ADDRESS], (bool(row.get("email_only")), alt)


def _first(*reasons: tuple[bool, Skip]) -> Skip | None:
    return next((reason for holds, reason in reasons if holds), None)


def _unpacked(entries: ZipEntries, path: str) -> JSONFile:
    with tempfile.TemporaryFile(prefix="homing-move-") as file:
        entries.copy(path, file, LONGEST_LIST)
        file.flush()
        return JSONFile(file)


def _json_rows(content: JSONFile) -> Iterator[Row]:
    if not content.is_array(content.root):
        raise UnusableExportError("unknown")
    for at in content.elements(content.root):
        if row := content.scalars(at, *_BUTTONDOWN_WORDS, longest=_LONGEST_WORD):
            yield row


def _csv_rows(entries: ZipEntries, path: str) -> Iterator[Row]:
    """Yield each row of a CSV list of issues, as a dict with column names as keys."""
    with entries.open(path, LONGEST_LIST) as content:
        text = io.TextIOWrapper(content, "utf-8-sig", "replace", newline="")
        lines = _Lines(text)
        header = next(lines, "")
        # Excel separates columns by semicolons in many countries.
        separator = ";" if header.count(";") > header.count(",") else ","
        names = [
            name.strip().lower() for name in next(csv.reader([header], delimiter=separator), [])
        ]
        wanted = [(at, name) for at, name in enumerate(names) if name in _COLUMNS]
        # Count blank rows too, because each takes time.
        for number, row in enumerate(csv.reader(lines, delimiter=separator)):
            if number >= MOST_ISSUES:
                raise UnusableExportError("too_many")
            lines.row = 0
            if row:
                yield {name: row[at] for at, name in wanted if at < len(row)}


class _Lines:
    """The lines of a CSV file, with a limit on the length of each row.

    `row` counts the characters of the current row. The caller sets `row` to 0 after each row.
    """

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self.row = 0  # characters

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline(LONGEST_ROW + 1)
        self.row += len(line)
        if self.row > LONGEST_ROW:
            raise UnusableExportError("long_row", detail=digits(LONGEST_ROW))
        if not line:
            raise StopIteration
        return line.replace("\0", "")
