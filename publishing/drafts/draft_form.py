"""
The composer's form, as it is posted: the words of a draft and what they were made from.

The plain form's fields are read too, so that a preview or a test letter takes either.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from delivery.rules.edition_counts import AUDIENCE_WORDS
from publishing.content.draft_content import HTML, MARKDOWN, DraftContent, build_content, longest
from publishing.content.edition_content import Content, visible
from publishing.drafts.drafts import DraftFields
from publishing.editions.versions import EVERYONE

FIELDS = ("title", "preheader", "format", "letter", "text_content", "goes_to", "unlisted")
_CALLED = {"title": "title", "preheader": "preheader", "letter": "letter", "text": "text part"}


def is_plain(posted: Mapping[str, str]) -> bool:
    """Whether the plain form's fields were posted and not the composer's: there is no `letter`."""
    return "letter" not in posted


def content_posted(posted: Mapping[str, str]) -> Content:
    """What would be sent of the fields of either form."""
    return build_content(written_posted(posted))


def written_posted(posted: Mapping[str, str]) -> DraftContent:
    """The words of the composer's fields, or of the plain form's (`html_content` alone)."""

    def words(field: str) -> str:
        # No text of the database holds NUL, and nobody sees one.
        return visible(posted.get(field, "")).replace("\x00", "")

    plain = is_plain(posted)
    said = posted.get("format", "")
    kind = HTML if plain else said if said in (MARKDOWN, HTML) else MARKDOWN
    return DraftContent(
        words("title"),
        words("preheader"),
        kind,
        words("html_content" if plain else "letter"),
        words("text_content"),
    )


def wording_posted(posted: Mapping[str, str]) -> DraftFields:
    """All that a save holds. What nobody could have chosen is taken for what is usual."""
    whom = posted.get("goes_to", "")
    return DraftFields(
        written_posted(posted),
        whom if whom in AUDIENCE_WORDS else EVERYONE.value,
        unlisted=posted.get("unlisted", "") == "on",
    )


def revision_posted(posted: Mapping[str, str]) -> int:
    """The revision that the words were made from; 0, which no draft has, where none is named."""
    said = posted.get("revision", "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else 0


def issue_posted(posted: Mapping[str, str]) -> uuid.UUID | None:
    """The issue whose next version is written. Raises `ValueError` if it is no id."""
    said = posted.get("issue", "")
    return uuid.UUID(said) if said else None


def why_too_long(written: DraftContent) -> str:
    """One sentence where a part is longer than any letter may be; empty if none is."""
    for name, called in _CALLED.items():
        length, most = len(getattr(written, name)), longest(name, written.format)
        if length > most:
            return (
                f"The {called} has {length:,} characters; at most {most:,} are possible. "
                "Nothing was saved; your words are still here."
            )
    return ""
