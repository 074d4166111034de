"""The fields of a draft, and the content of its previews and mails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.conf import settings

from delivery.issue_attributes import CONTENT_ATTRIBUTES
from delivery.mail.merge_fields import (
    ANY_BRACES,
    escape_html_braces,
    find_html_fields,
    is_field,
)
from delivery.models import Edition
from publishing.content.edition_content import Content
from publishing.content.markdown import outside_code, render_markdown
from publishing.content.text_part import html_to_text

MARKDOWN, HTML = "markdown", "html"
# A number of characters. Hostile Markdown of this length takes seconds to render, and Gmail already
# clips a mail of half this size.
LONGEST_MARKDOWN = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFields:
    """The fields that one save of a draft stores: one for each of `ISSUE_ATTRIBUTES`.

    `format` is the format of the letter. If `text` is empty, the plain text is made from the
    letter.
    """

    title: str = ""
    preview_text: str = ""
    reply_to: str = ""
    format: str = MARKDOWN
    letter: str = ""
    text: str = ""
    goes_to: str = Edition.GoesTo.EVERYONE.value
    archive: str = ""  # a value of `Visibility`; empty if the author has not chosen one
    without_note: bool = False  # true only for a correction that is not mailed
    with_tags: tuple[int, ...] = ()  # sorted ids of tags
    without_tags: tuple[int, ...] = ()

    def columns(self) -> dict[str, Any]:
        """Return the columns of a draft; the previous release needs `unlisted`."""
        return {**asdict(self), "unlisted": self.archive in ("unlisted", "none")}

    @property
    def is_empty(self) -> bool:
        """True if nothing was written."""
        return not any(getattr(self, one.name) for one in CONTENT_ATTRIBUTES)

    @classmethod
    def of_content(cls, content: Content) -> DraftFields:
        """Return the fields of a draft in finished HTML that has this content."""
        written = {one.name: getattr(content, one.content) for one in CONTENT_ATTRIBUTES}
        return cls(format=HTML, **written)


def content_as_written(draft: DraftFields) -> Content:
    """Return the content of a draft in finished HTML exactly as it was written.

    If the plain text is empty, it stays empty.
    """
    return Content.from_input(**_texts(draft))


def _texts(draft: DraftFields) -> dict[str, str]:
    return {one.content: getattr(draft, one.name) for one in CONTENT_ATTRIBUTES}


def build_content(draft: DraftFields) -> Content:
    """Build the content that a draft with these fields would publish."""
    written = _texts(draft)
    html = render_markdown(draft.letter) if draft.format == MARKDOWN else draft.letter
    written["html"] = html = escape_html_braces(html)
    if not draft.text.strip():
        written["text"] = html_to_text(html, settings.SITE_URL)
    return replace(Content.from_input(**written), has_page=draft.archive != "none")


def fields_of(draft: DraftFields) -> Iterator[re.Match[str]]:
    """Yield the merge fields of the letter; braces within code are no fields."""
    if draft.format == MARKDOWN:
        return iter([one for one in outside_code(draft.letter, ANY_BRACES) if is_field(one)])
    return find_html_fields(draft.letter)
