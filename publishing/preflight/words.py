"""What the author wrote: flaws, forgotten notes, fields without a value. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from delivery.humanise import enumerated, so_many
from delivery.mail import merge_fields
from delivery.reader_fields import READER_FIELDS, ReaderField
from publishing.content.edition_content import find_problems
from publishing.preflight.facts import Facts
from publishing.preflight.finding import Finding, Where, advice, in_order, stop
from publishing.preflight.parse_letter import Passage, read_text

_PLACES = {
    "title": Where.TITLE,
    "preheader": Where.PREHEADER,
    "html_content": Where.LETTER,
    "text_content": Where.TEXT,
}
_SUBJECTS = {
    "title": "The title uses",
    "preheader": "The preheader uses",
    "html_content": "The letter uses",
    "text_content": "The text part uses",
}
# Notes to oneself, and what other programs fill in. Capitals: “todo” is a word of two languages.
_NOTE = re.compile(r"\b(?:TODO|FIXME|XXX|TBD)\b|[Ll]orem ipsum")
_ELSEWHERE = re.compile(r"\*\|[A-Z][A-Z0-9_:]*\|\*|%%[a-z_]+%%|\[\[[a-z_]+\]\]")
_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)
# Three braces are Postmark's own.
_POSTMARKS_OWN = re.compile(r"\{\{\{[^{}]*\}\}\}")
_MOST_SHOWN = 5
# Characters of a subject that a phone has room for; the narrowest show about 40.
SHOWN_ON_A_PHONE = 50


def of_the_words(facts: Facts) -> Iterator[Finding]:
    """Everything about the words themselves."""
    yield from _flaws(facts)
    passages = _passages(facts)
    yield from _braces(passages)
    yield from _notes(passages)
    yield from _long_subject(facts)
    yield from _scripts(facts)
    yield from _fields_without_a_value(facts)


def _flaws(facts: Facts) -> Iterator[Finding]:
    unknown = {
        (field, str(found)): found
        for field, part, allowed in _parts(facts)
        for found in merge_fields.unknown_fields(part, allowed)
    }
    places = _places_of(facts, {(part, _folded(one.name)) for (part, _), one in unknown.items()})
    named: set[str] = set()
    for flaw in find_problems(facts.content):
        found = unknown.get((flaw.field, flaw.sentence))
        if found is None:
            yield stop(flaw.sentence, where=_PLACES[flaw.field])
            continue
        made_here = flaw.field == "text_content" and not facts.own_text
        if made_here and facts.content.html.strip():
            continue  # it stands in the letter too, and is mended there
        if (flaw.field + found.name) in named:
            continue
        named.add(flaw.field + found.name)
        place = places.get((flaw.field, _folded(found.name)), "")
        meant = f"Was “{{{{ {found.meant} }}}}” meant? " if found.meant else ""
        yield stop(
            f"{_SUBJECTS[flaw.field]} a field that does not exist:",
            f"{f'{place[0].upper()}{place[1:]}. ' if place else ''}{meant}"
            f"Known fields are {enumerated(list(found.allowed))}.",
            _PLACES[flaw.field],
            f"{{{{ {found.name[: merge_fields.MAX_SHOWN_LENGTH]} }}}}",
        )


def _parts(facts: Facts) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    content = facts.content
    yield "title", content.title, merge_fields.TITLE_FIELDS
    yield "preheader", content.preheader, merge_fields.TITLE_FIELDS
    yield "html_content", content.html, merge_fields.BODY_FIELDS
    yield "text_content", content.text, merge_fields.BODY_FIELDS


def _places_of(facts: Facts, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The first place of each wanted field, by part of the letter and name on one line."""
    found: dict[tuple[str, str], str] = {}
    for part, place, words in _places(facts):
        for field in merge_fields.iter_fields(words):
            if (key := (part, _folded(field.name))) in wanted:
                found.setdefault(key, place)
        if len(found) == len(wanted):
            break
    return found


def _places(facts: Facts) -> Iterator[tuple[str, str, str]]:
    letter = facts.letter
    for passage in letter.passages:
        yield "html_content", passage.place, passage.words
    for link in letter.links:
        yield "html_content", "in the address of a link", link.address
    for passage in read_text(facts.content.text):
        yield "text_content", passage.place, passage.words


def _folded(name: str) -> str:
    # A passage has its blanks folded.
    return " ".join(name.split())


def _passages(facts: Facts) -> list[Passage]:
    """All that is read, the title first; a text part only where it is the author's own."""
    passages = [Passage("in the title", facts.content.title)]
    passages.append(Passage("in the preheader", facts.content.preheader))
    passages.extend(facts.letter.passages)
    if facts.own_text or not facts.content.html.strip():
        passages.extend(read_text(facts.content.text))
    return passages


def _braces(passages: list[Passage]) -> Iterator[Finding]:
    halves = (found for passage in passages if (found := _half_of(passage)))
    for half, other, passage in islice(halves, _MOST_SHOWN):
        yield advice(
            f"A “{half}” is missing its “{other}” {passage.place}",
            "Readers see it as it is written; a merge field has both.",
            _where(passage),
        )


def _half_of(passage: Passage) -> tuple[str, str, Passage] | None:
    rest = _POSTMARKS_OWN.sub("", merge_fields.strip_fields(passage.words))
    if "{{" in rest:
        return "{{", "}}", passage
    return ("}}", "{{", passage) if "}}" in rest else None


def _notes(passages: list[Passage]) -> Iterator[Finding]:
    for pattern, sentence, detail in (
        (_NOTE, "looks like a note that was forgotten", "Readers see it as it is written."),
        (
            _ELSEWHERE,
            "looks like a merge field of another program",
            "Here one is written {{ name|reader }}; readers see this one as it is.",
        ),
    ):
        seen: dict[str, Passage] = {}
        for passage in passages:
            for found in pattern.finditer(passage.words):
                seen.setdefault(found[0][: merge_fields.MAX_SHOWN_LENGTH], passage)
        for word, passage in list(seen.items())[:_MOST_SHOWN]:
            yield advice(f"“{word}” {passage.place} {sentence}", detail, _where(passage))


def _long_subject(facts: Facts) -> Iterator[Finding]:
    length = len(facts.content.plain_title)
    if length > SHOWN_ON_A_PHONE:
        yield advice(
            f"The subject has {length} characters, and phones show about {SHOWN_ON_A_PHONE}",
            "The rest is cut off. Put what matters first.",
            Where.TITLE,
        )


def _scripts(facts: Facts) -> Iterator[Finding]:
    if _SCRIPT.search(facts.content.html):
        yield advice(
            "The letter has a script, which does nothing in a mail",
            "Mail programs remove it, and filters may take the letter for spam. The archive leaves "
            "it out.",
            Where.LETTER,
        )


def _where(passage: Passage) -> Where:
    if passage.place == "in the title":
        return Where.TITLE
    if passage.place == "in the preheader":
        return Where.PREHEADER
    return Where.TEXT if passage.place.endswith("of the text part") else Where.LETTER


def fields_without_fallback(*parts: str) -> list[ReaderField]:
    """The reader's fields that leave a hole in one of these parts if a reader has no value."""
    bare = {
        found.name
        for part in parts
        for found in merge_fields.iter_fields(part)
        if not found.fallback
    }
    return [field for field in READER_FIELDS if field.name in bare]


def _fields_without_a_value(facts: Facts) -> Iterator[Finding]:
    content = facts.content
    bare = fields_without_fallback(content.title, content.preheader, content.html, content.text)
    if not bare:
        used = (field for _, part, _ in _parts(facts) for field in merge_fields.iter_fields(part))
        if any(field.name in merge_fields.BODY_FIELDS for field in used):
            yield in_order("Every merge field has a value for every reader.")
    for field in bare:
        readers = facts.without_value[field.name]
        if not readers:
            yield in_order(f"Every reader has a {field.label.lower()}.")
            continue
        yield advice(
            f"{so_many(readers, 'reader')} {'has' if readers == 1 else 'have'} no "
            f"{field.label.lower()}, and there is no fallback for",
            f"They find nothing in its place. With {{{{ {field.with_fallback} }}}} they read "
            f"“{field.fallback}”.",
            next(
                _PLACES[place]
                for place, part, _ in _parts(facts)
                if field in fields_without_fallback(part)
            ),
            code=f"{{{{ {field.name} }}}}",
        )
