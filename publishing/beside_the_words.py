"""
What the composer says of the words in it: how many, how large as mail, what looks wrong.

One reading for the page and for its script, so that no number is written in two places.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from publishing.content import Content, flaws_of
from publishing.counted_words import words_in
from publishing.models import Draft
from publishing.preflight.of_the_mail import kilobytes
from publishing.preview import Preview, preview_of
from publishing.words_for_numbers import counted
from publishing.written import Written, content_of

# Where the composer has what the content calls otherwise.
_FIELD = {"html_content": "letter"}


@dataclass(frozen=True, slots=True)
class BesideTheWords:
    """The facts about some words, as the page writes them."""

    sender: str
    reader: str
    subject: str
    preheader: str
    count: str
    automatic_text: str
    hints: dict[str, list[str]]

    def as_json(self) -> dict[str, object]:
        """By the names that the page has for them."""
        return asdict(self)


def beside(written: Written, draft: Draft | None, *, sees_readers: bool) -> BesideTheWords:
    """What is to be said of these words, to an author who may see readers or may not."""
    slug = draft.issue.slug if draft is not None and draft.issue is not None else ""
    content = content_of(written)
    preview = preview_of(content, sees_readers=sees_readers, slug=slug)
    # Made once where it can be: a long letter takes a while.
    automatic = content_of(replace(written, text="")).text if written.text.strip() else content.text
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
    words = words_in(text)
    return f"{counted(words, 'word')}, {kilobytes(preview.size):,} kB as mail."


def _hints(written: Written, content: Content) -> dict[str, list[str]]:
    """What would be refused, at its field. A field that is still empty is not found fault with."""
    has_words = {
        "title": bool(written.title.strip()),
        "preheader": bool(written.preheader.strip()),
        "letter": bool(written.letter.strip()),
        "text_content": bool(written.text.strip()),
    }
    found: dict[str, list[str]] = {name: [] for name in has_words}
    for flaw in flaws_of(content):
        field = _FIELD.get(flaw.field, flaw.field)
        if has_words[field]:
            found[field].append(flaw.sentence)
    return found
