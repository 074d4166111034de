"""Read the issues of another Homing site, as its complete export contains them."""

import json
import re
from dataclasses import replace
from datetime import datetime
from typing import Any

from delivery.issue_attributes import CONTENT_ATTRIBUTES, TITLE, IssueAttribute
from publishing.content.edition_content import Content
from publishing.exporting.export_files import FORMAT
from publishing.models import LONGEST_MOVED_KEY, Visibility
from publishing.past_issues.past_issue import (
    LONGEST_LETTER,
    MOST_ISSUES,
    PastIssue,
    Skip,
    SkipIssueError,
    Take,
    UnusableExportError,
    parse_date,
    word_of,
)
from subscribers.files.zip_entries import UnusableZipError, ZipEntries

SUMMARY = "homing.json"
_LONGEST_JSON = 256 * 1024
_ISSUE = re.compile(r"issues/[^/]+/version-[0-9]+/issue\.json")
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_IMAGE = re.compile(rf"(?:https?://[a-zA-Z0-9.:-]+)?/pictures/{_UUID}\.[a-z]{{3,4}}")


def read_own_issues(entries: ZipEntries, summary: str) -> list[PastIssue]:
    """Return the newest public version of each issue, with the first version's date."""
    if _read_json(entries, summary).get("format") != FORMAT:
        raise UnusableExportError("other_format")
    root = summary.removesuffix(SUMMARY)
    # `newest` has each issue's newest version. `first` has the date of its first version.
    newest: dict[str, tuple[bool, int, PastIssue]] = {}
    first: dict[str, tuple[bool, int, datetime | None]] = {}
    for path in entries.paths:
        if path.startswith(root) and _ISSUE.fullmatch(path, len(root)):
            row = _read_json(entries, path)
            is_public, number = row.get("public") is True, row.get("version")
            number = number if isinstance(number, int) else 0
            past = _version(row, path.removesuffix("issue.json"), is_public=is_public)
            key, version = past.key, (is_public, number, past)
            newest[key] = max(newest.get(key, version), version, key=lambda one: one[:2])
            # If an issue has public versions, its newest and first versions are chosen among these.
            earlier = first.setdefault(key, (is_public, number, past.published_at))
            if (not is_public, number) < (not earlier[0], earlier[1]):
                first[key] = is_public, number, past.published_at
            if len(newest) > MOST_ISSUES:
                raise UnusableExportError("too_many")
    return [
        replace(past, published_at=first[key][2])
        for key, (_public, _number, past) in newest.items()
    ]


def _version(row: dict[str, Any], folder: str, *, is_public: bool) -> PastIssue:
    key = word_of(row, "issue")
    skip = None if is_public else Skip.DRAFT
    # Values that are too long are refused later. Cut long values now, so that they do not fill the
    # memory.
    return PastIssue(
        key if is_uuid(key) else "",
        word_of(row, "slug")[:100],
        word_of(row, "title")[: TITLE.longest + 1],
        published_at=parse_date(word_of(row, "published_at")),
        skip=skip if is_uuid(key) else Skip.UNREADABLE,
        source=folder,
        visibility=_visibility(row),
        moved_as=word_of(row, "moved_as")[:LONGEST_MOVED_KEY],
    )


def _visibility(row: dict[str, Any]) -> Visibility:
    """Return the issue's visibility; unlisted if the export does not state it."""
    if row.get("archive") == Visibility.NONE:
        return Visibility.NONE
    return Visibility.PUBLIC if row.get("unlisted") is False else Visibility.UNLISTED


def own_content(entries: ZipEntries, past: PastIssue, take: Take) -> Content:
    """Return the content as it was published, with images copied to this site.

    Raises `SkipIssueError`.
    """

    def image(found: re.Match[str]) -> str:
        taken = take(found[0])
        return taken[0] if taken else found[0]

    row = _read_json(entries, f"{past.source}issue.json")

    def text_of(attribute: IssueAttribute) -> str:
        if not attribute.file:
            return word_of(row, attribute.api_name)[: attribute.longest + 1]
        path = f"{past.source}{attribute.file}"
        if path not in entries:
            return ""
        try:
            text = entries.read(path, LONGEST_LETTER).decode("utf-8", "replace")
        except UnusableZipError:
            raise SkipIssueError(Skip.UNREADABLE) from None
        if len(text) > attribute.longest:
            raise SkipIssueError(Skip.TOO_LONG)
        return _IMAGE.sub(image, text)

    return Content.from_input(**{one.content: text_of(one) for one in CONTENT_ATTRIBUTES})


def is_uuid(text: str) -> bool:
    """Whether a text of an export is a UUID, such as the id of an issue or an image."""
    return re.fullmatch(_UUID, text) is not None


def _read_json(entries: ZipEntries, path: str) -> dict[str, Any]:
    try:
        found = json.loads(entries.read(path, _LONGEST_JSON))
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}
