"""Collect what the composer shows next to the letter: reader, size and problems."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from delivery.humanise import counted, digits, kilobytes
from delivery.issue_attributes import CONTENT_ATTRIBUTES, LETTER
from delivery.mail.merge_fields import find_fields
from publishing.content.draft_content import DraftFields, build_content, fields_of
from publishing.content.edition_content import Content, ContentProblem, find_problems
from publishing.content.gmail_limit import GMAIL_CLIPS_AT, NEAR_LIMIT
from publishing.content.render_preview import render_preview
from publishing.content.word_count import count_words, reading_minutes
from publishing.drafts.draft_form import form_values
from publishing.models import Draft
from subscribers.fields.own_fields import load_own_fields


@dataclass(frozen=True, slots=True)
class Hint:
    """A problem in a field, with its line and the text to search for, if known.

    `before` is how often the same text occurs earlier in the field, for example in code.
    """

    sentence: str
    place: str = ""
    code: str = ""
    before: int = 0


def composer_stats(
    draft: DraftFields, saved: Draft | None, *, sees_readers: bool
) -> tuple[dict[str, str], dict[str, list[Hint]]]:
    """Return the facts about a letter as a dict, and the hints for each field.

    The keys of the facts are the names that the page and its script use.

    `saved` is the stored draft, if the letter was saved before.
    """
    slug = saved.issue.slug if saved is not None and saved.issue is not None else ""
    content = build_content(draft)
    preview = render_preview(content, sees_readers=sees_readers, slug=slug)
    automatic = content.text
    if draft.text.strip():
        automatic = build_content(replace(draft, text="")).text
    words = count_words(automatic or content.text)
    stats = {
        "sender": preview.sender,
        "reply_to": preview.reply_to,
        "reader": preview.reader,
        "subject": preview.subject,
        "preview_text": preview.preview_text,
        "count": _describe_length(words),
        "size": _describe_size(preview.size),
        "size_tone": "doubt" if preview.size > NEAR_LIMIT else "",
        "automatic_text": automatic,
    }
    return stats, _hints(draft, content)


def _describe_length(words: int) -> str:
    length = counted("{n} word", "{n} words", words)
    if not words:
        return length
    time = counted("{n} minute to read", "{n} minutes to read", reading_minutes(words))
    return f"{length} · {time}"


def _describe_size(size: int) -> str:
    if size > GMAIL_CLIPS_AT:
        text = _("Gmail cuts this letter off: {size} of {limit} kB")
    elif size > NEAR_LIMIT:
        text = _("Close to Gmail’s limit: {size} of {limit} kB")
    else:
        text = _("{size} of Gmail’s {limit} kB")
    return text.format(size=digits(kilobytes(size)), limit=kilobytes(GMAIL_CLIPS_AT))


def _hints(draft: DraftFields, content: Content) -> dict[str, list[Hint]]:
    texts = form_values(draft)
    hints: dict[str, list[Hint]] = {one.control: [] for one in CONTENT_ATTRIBUTES}
    for problem in find_problems(content, load_own_fields()):
        text = texts[problem.attribute.control]
        if text.strip():
            fields = fields_of(draft) if problem.attribute is LETTER else find_fields(text)
            hints[problem.attribute.control].append(_hint(problem, text, fields))
    return hints


def _hint(problem: ContentProblem, text: str, fields: Iterable[re.Match[str]]) -> Hint:
    """Return the hint of a problem, with the first place of its unknown merge field."""
    unknown = problem.merge_field
    first = next((one for one in fields if unknown and one[1].strip() == unknown.name), None)
    if first is None:
        return Hint(problem.sentence)
    line = 1 + text.count("\n", 0, first.start())
    place = _("Line {n}").format(n=digits(line)) if problem.attribute.is_part else ""
    return Hint(problem.sentence, place, first[0], text.count(first[0], 0, first.start()))
