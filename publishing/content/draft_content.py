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
# Hostile Markdown of this length takes seconds to render. Gmail clips a mail at half this size.
LONGEST_MARKDOWN = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFields:
    """The fields of a save: each of `ISSUE_ATTRIBUTES`.

    `format` is that of the letter; an empty `text` is automatic.
    """

    title: str = ""
    preview_text: str = ""
    reply_to: str = ""
    format: str = MARKDOWN
    letter: str = ""
    text: str = ""
    goes_to: str = Edition.GoesTo.EVERYONE.value
    archive: str = ""  # a value of `Visibility`; empty if the author has not chosen one
    without_note: bool = False  # of a correction that is not mailed
    with_tags: tuple[int, ...] = ()  # sorted ids, as of an edition
    without_tags: tuple[int, ...] = ()

    def columns(self) -> dict[str, Any]:
        """Return the columns of a draft. The previous release knows only `unlisted`."""
        return {**asdict(self), "unlisted": self.archive in ("unlisted", "none")}

    @property
    def is_empty(self) -> bool:
        """True if nothing was written."""
        return not any(getattr(self, one.name) for one in CONTENT_ATTRIBUTES)

    @classmethod
    def of_content(cls, content: Content) -> DraftFields:
        """Return the fields of finished HTML with this content."""
        written = {one.name: getattr(content, one.content) for one in CONTENT_ATTRIBUTES}
        return cls(format=HTML, **written)


def content_as_written(draft: DraftFields) -> Content:
    """Return the content of finished HTML as it is; an empty plain text stays empty."""
    return Content.from_input(**_texts(draft))


def _texts(draft: DraftFields) -> dict[str, str]:
    return {one.content: getattr(draft, one.name) for one in CONTENT_ATTRIBUTES}


def build_content(draft: DraftFields) -> Content:
    """Build the content of these fields."""
    written = _texts(draft)
    html = render_markdown(draft.letter) if draft.format == MARKDOWN else draft.letter
    written["html"] = html = escape_html_braces(html)
    if not draft.text.strip():
        written["text"] = html_to_text(html, settings.SITE_URL)
    return replace(Content.from_input(**written), has_page=draft.archive != "none")


def fields_of(draft: DraftFields) -> Iterator[re.Match[str]]:
    """Yield the merge fields of the letter as it is written. There are none in code."""
    if draft.format == MARKDOWN:
        return iter([one for one in outside_code(draft.letter, ANY_BRACES) if is_field(one)])
    return find_html_fields(draft.letter)
