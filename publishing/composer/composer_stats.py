"""Collect what the composer shows next to the letter: reader, size and problems."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from delivery.humanise import digits, kilobytes
from delivery.issue_attributes import CONTENT_ATTRIBUTES, LETTER
from delivery.mail.merge_fields import BODY_FIELDS, TITLE_FIELDS, find_fields, unknown_fields
from publishing.content.draft_content import DraftFields, build_content, fields_of
from publishing.content.edition_content import Content, find_problems, unknown_field_sentence
from publishing.content.render_preview import render_preview
from publishing.content.word_count import count_words
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
    count = ngettext("{n} word, {size} kB as mail.", "{n} words, {size} kB as mail.", words)
    stats = {
        "sender": preview.sender,
        "reply_to": preview.reply_to,
        "reader": preview.reader,
        "subject": preview.subject,
        "preview_text": preview.preview_text,
        "count": count.format(n=digits(words), size=digits(kilobytes(preview.size))),
        "automatic_text": automatic,
    }
    return stats, _hints(draft, content)


def _hints(draft: DraftFields, content: Content) -> dict[str, list[Hint]]:
    texts = form_values(draft)
    hints: dict[str, list[Hint]] = {one.control: [] for one in CONTENT_ATTRIBUTES}
    own = load_own_fields()
    names = tuple(field.name for field in own)
    for problem in find_problems(content, own):
        field, has_lines = problem.attribute.control, problem.attribute.is_part
        if texts[field].strip():
            allowed = (*(BODY_FIELDS if has_lines else TITLE_FIELDS), *names)
            found = (
                [*fields_of(draft)] if problem.attribute is LETTER else [*find_fields(texts[field])]
            )
            located = _locate_unknown_fields(texts[field], found, allowed, has_lines=has_lines)
            hints[field].append(located.get(problem.sentence) or Hint(problem.sentence))
    return hints


def _locate_unknown_fields(
    text: str, fields: Sequence[re.Match[str]], allowed: tuple[str, ...], *, has_lines: bool
) -> dict[str, Hint]:
    """Map the sentence about each unknown merge field to the field's first place."""
    unknown = unknown_fields("".join(field[0] for field in fields), allowed)
    sentences = {field.name: unknown_field_sentence(field) for field in unknown}
    hints: dict[str, Hint] = {}
    line, end = 1, 0
    for match in fields:
        line, end = line + text.count("\n", end, match.start()), match.start()
        sentence = sentences.get(match[1].strip())
        if sentence is not None and sentence not in hints:
            place = _("Line {n}").format(n=digits(line)) if has_lines else ""
            before = text.count(match[0], 0, match.start())
            hints[sentence] = Hint(sentence, place, match[0], before)
    return hints
