"""Read the fields of a draft that the composer or the HTML form has posted."""

import uuid
from collections.abc import Mapping

from django.http import HttpRequest
from django.utils.translation import gettext as _

from delivery.issue_attributes import CONTENT_ATTRIBUTES, ISSUE_ATTRIBUTES, LETTER, LONGEST_PART
from delivery.reports.edition_words import AUDIENCE_WORDS
from publishing.content.draft_content import HTML, LONGEST_MARKDOWN, MARKDOWN, DraftFields
from publishing.content.edition_content import remove_invisible, sentence_too_long
from publishing.editions.audience import EVERYONE
from publishing.editions.listing import POSTED_AS, read_archive
from publishing.editions.posted_tags import TAG_FIELDS, choice_of, join_ids, read_ids
from publishing.editions.tag_sentences import choice_words
from publishing.editions.versions import versions_of
from publishing.models import Visibility


def is_html_form(posted: Mapping[str, str]) -> bool:
    """
    Return whether the form for finished HTML was posted.

    Only the composer has `letter`.
    """
    return "letter" not in posted


def parse_draft_fields(posted: Mapping[str, str]) -> DraftFields:
    """Return the fields of either form. An invalid choice becomes the default."""

    def words(field: str) -> str:
        # PostgreSQL stores no NUL.
        return remove_invisible(posted.get(field, "")).replace("\x00", "")

    if is_html_form(posted):
        written_in, letter = HTML, "html_content"
    else:
        written_in, letter = HTML if posted.get("format") == HTML else MARKDOWN, "letter"
    goes_to = posted.get("goes_to", "")
    return DraftFields(
        title=words("title"),
        preheader=words("preheader"),
        format=written_in,
        letter=words(letter),
        text=words("text_content"),
        goes_to=goes_to if goes_to in AUDIENCE_WORDS else EVERYONE.value,
        archive=read_archive(posted.get("unlisted", "")) or "",
        without_note=posted.get("without_note", "") == "on",
        **{name: read_ids(posted.get(name, "")) for name in TAG_FIELDS},
    )


def form_values(fields: DraftFields) -> dict[str, str]:
    """Return the values by the names of the composer's fields."""
    tags = (join_ids(getattr(fields, name)) for name in TAG_FIELDS)
    archive, note = POSTED_AS[fields.archive], "on" if fields.without_note else ""
    values = {one.control: getattr(fields, one.name) for one in ISSUE_ATTRIBUTES}
    chosen = {"unlisted": archive, "without_note": note, **dict(zip(TAG_FIELDS, tags, strict=True))}
    return values | chosen


def fields_to_compare(fields: DraftFields) -> dict[str, str]:
    """Return the values that a page compares, by their labels."""
    shown = {
        "format": "HTML" if fields.format == HTML else "Markdown",
        "text": fields.text or _("automatic"),
        "goes_to": choice_words(fields.goes_to, choice_of(fields.with_tags, fields.without_tags)),
        "archive": str(Visibility(fields.archive).label) if fields.archive else _("automatic"),
    }
    return {
        str(one.label): shown.get(one.name, getattr(fields, one.name))
        for one in ISSUE_ATTRIBUTES
        if one.label
    }


def parse_revision(text: str | None) -> int:
    """Return the base revision of a form; 0, which no draft has, if it names none."""
    text = text or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def issue_posted(request: HttpRequest) -> uuid.UUID | None:
    """Return the issue that the form names, if a version of it was published."""
    try:
        issue = uuid.UUID(request.POST.get("issue", ""))
    except ValueError:
        return None
    return issue if versions_of(issue).exists() else None


def parse_hash(text: str | None) -> bytes:
    """Return the hash that a form was shown with; empty if none."""
    try:
        return bytes.fromhex(text or "")
    except ValueError:
        return b""


def too_long(fields: DraftFields) -> dict[str, str]:
    """Return a sentence for each part that is too long, by its name."""
    found = {}
    for one in CONTENT_ATTRIBUTES:
        text, most = getattr(fields, one.name), LONGEST_PART
        if (one, fields.format) == (LETTER, MARKDOWN):
            most = LONGEST_MARKDOWN
        if len(text) > most:
            found[one.name] = sentence_too_long(one.too_long, text, most)
    return found


def length_error(fields: DraftFields) -> str:
    """Return a sentence about the first part that is too long; empty if none is."""
    sentence = next(iter(too_long(fields).values()), "")
    if not sentence:
        return ""
    return " ".join((sentence, _("Nothing was saved, and your text is still here.")))
