"""
What the composer says of the words in it: how many, how large as mail, what looks wrong.

One reading for the page and for its script, so that no number is written in two places.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from delivery.humanise import counted, kilobytes
from delivery.mail.merge_fields import BODY_FIELDS, FIELD_PATTERN, TITLE_FIELDS, unknown_fields
from publishing.content.draft_content import DraftContent, build_content
from publishing.content.edition_content import Content, find_problems
from publishing.content.render_preview import Preview, render_preview
from publishing.content.word_count import count_words
from publishing.models import Draft

# Where the composer has what the content calls otherwise.
_FIELD = {"html_content": "letter"}
_IN_LINES = ("letter", "text_content")


@dataclass(frozen=True, slots=True)
class Hint:
    """What is wrong with a field, and the place and its words if they are known."""

    sentence: str
    place: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class BesideTheWords:
    """The facts about some words, as the page writes them."""

    sender: str
    reader: str
    subject: str
    preheader: str
    count: str
    automatic_text: str
    hints: dict[str, list[Hint]]

    def as_json(self) -> dict[str, object]:
        """By the names that the page has for them."""
        return asdict(self)


def beside(written: DraftContent, draft: Draft | None, *, sees_readers: bool) -> BesideTheWords:
    """The facts beside these words, for an author who may see readers or may not."""
    slug = draft.issue.slug if draft is not None and draft.issue is not None else ""
    content = build_content(written)
    preview = render_preview(content, sees_readers=sees_readers, slug=slug)
    # Made once where it can be: a long letter takes a while.
    automatic = (
        build_content(replace(written, text="")).text if written.text.strip() else content.text
    )
    return BesideTheWords(
        sender=preview.sender,
        reader=preview.reader,
        subject=preview.subject,
        preheader=preview.preheader,
        count=_count(automatic or content.text, preview),
        automatic_text=automatic,
        hints=_hints(written, content),
    )


def _count(text: str, preview: Preview) -> str:
    """Of the letter; where that has no words, of the text part."""
    words = count_words(text)
    return f"{counted(words, 'word')}, {kilobytes(preview.size):,} kB as mail."


def _hints(written: DraftContent, content: Content) -> dict[str, list[Hint]]:
    """What would be refused, at its field. A field that is still empty is not found fault with."""
    words = {
        "title": written.title,
        "preheader": written.preheader,
        "letter": written.letter,
        "text_content": written.text,
    }
    found: dict[str, list[Hint]] = {name: [] for name in words}
    places = {name: _places(text, in_lines=name in _IN_LINES) for name, text in words.items()}
    for flaw in find_problems(content):
        field = _FIELD.get(flaw.field, flaw.field)
        if words[field].strip():
            found[field].append(places[field].get(flaw.sentence) or Hint(flaw.sentence))
    return found


def _places(text: str, *, in_lines: bool) -> dict[str, Hint]:
    """The first place of each unknown merge field of a text, by the sentence about it."""
    allowed = BODY_FIELDS if in_lines else TITLE_FIELDS
    sentences = {field.name: str(field) for field in unknown_fields(text, allowed)}
    hints: dict[str, Hint] = {}
    line, end = 1, 0
    for match in FIELD_PATTERN.finditer(text):
        line, end = line + text.count("\n", end, match.start()), match.start()
        sentence = sentences.get(match[1].strip())
        if sentence is not None and sentence not in hints:
            hints[sentence] = Hint(sentence, f"Line {line:,}" if in_lines else "", match[0])
    return hints
