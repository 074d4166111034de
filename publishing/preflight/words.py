"""Check the text: problems, forgotten notes, fields without a value. Pure."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from delivery.mail import merge_fields
from delivery.reader_fields import READER_FIELDS, ReaderField
from publishing.content.edition_content import ContentProblem, find_problems
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FixIn, advice, passed, stop
from publishing.preflight.parse_letter import Passage, TextLocation, parse_text

_FIX_IN = {
    "title": FixIn.TITLE,
    "preheader": FixIn.PREHEADER,
    "html_content": FixIn.LETTER,
    "text_content": FixIn.TEXT,
    "text": FixIn.TEXT,
}
# Capitals only: “todo” is a word in Spanish and Portuguese.
_NOTE = re.compile(r"\b(?:TODO|FIXME|XXX|TBD)\b|[Ll]orem ipsum")
_FOREIGN_FIELD = re.compile(r"\*\|[A-Z][A-Z0-9_:]*\|\*|%%[a-z_]+%%|\[\[[a-z_]+\]\]")
_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)
_MAX_SHOWN = 5
# Characters of a subject that a phone shows; the narrowest show about 40.
SHOWN_ON_A_PHONE = 50


def check_words(context: CheckContext) -> Iterator[Finding]:
    """Find problems in the text."""
    problems = find_problems(context.content, context.own_fields)
    yield from _content_problems(context, problems)
    passages = _passages(context)
    yield from _unmatched_braces(passages)
    yield from _notes(passages, _NOTE, "forgotten_note")
    yield from _notes(passages, _FOREIGN_FIELD, "foreign_merge_field")
    length = len(context.content.plain_title)
    if length > SHOWN_ON_A_PHONE:
        yield advice("long_subject", FixIn.TITLE, length=length, shown=SHOWN_ON_A_PHONE)
    if _SCRIPT.search(context.content.html):
        yield advice("script", FixIn.LETTER)
    has_unknown = any(problem.merge_field for problem in problems)
    yield from _fields_without_value(context, has_unknown=has_unknown)


def _content_problems(context: CheckContext, problems: list[ContentProblem]) -> Iterator[Finding]:
    unknown = {(one.field, _folded(one.merge_field.name)) for one in problems if one.merge_field}
    locations = _locations_of(context, unknown)
    in_letter = {one.sentence for one in problems if one.field == "html_content"}
    for problem in problems:
        field, fix_in = problem.merge_field, _FIX_IN[problem.field]
        is_generated = problem.field == "text_content" and not context.has_own_text
        has_letter = bool(context.content.html.strip())
        if is_generated and (problem.sentence in in_letter or (field and has_letter)):
            continue  # reported for the letter, from which this text is made
        if field is None:
            yield stop("content_problem", fix_in, sentence=problem.sentence)
            continue
        yield stop(
            "unknown_field",
            fix_in,
            part=problem.field,
            location=locations.get((problem.field, _folded(field.name)), ""),
            meant=field.meant,
            known=field.allowed,
            field=field.name[: merge_fields.MAX_SHOWN_LENGTH],
        )


def _parts(context: CheckContext) -> Iterator[tuple[str, str]]:
    content = context.content
    yield "title", content.title
    yield "preheader", content.preheader
    yield "html_content", content.html
    yield "text_content", content.text


def _locations_of(
    context: CheckContext, wanted: set[tuple[str, str]]
) -> dict[tuple[str, str], TextLocation]:
    """Return the first location of each wanted field, by part and folded name."""
    found: dict[tuple[str, str], TextLocation] = {}
    for part, passage in _passages_by_part(context):
        if len(found) == len(wanted):
            break
        for field in merge_fields.iter_fields(passage.words):
            if (key := (part, _folded(field.name))) in wanted:
                found.setdefault(key, passage.location)
    return found


def _passages_by_part(context: CheckContext) -> Iterator[tuple[str, Passage]]:
    for passage in context.letter.passages:
        yield "html_content", passage
    for link in context.letter.links:
        yield "html_content", Passage(TextLocation("link"), link.address)
    for passage in parse_text(context.content.text):
        yield "text_content", passage


def _folded(name: str) -> str:
    # The spaces of a passage are folded.
    return " ".join(name.split())


def _passages(context: CheckContext) -> list[Passage]:
    """
    Return everything that readers see, title first.

    Plain text only if the author wrote it.
    """
    passages = [Passage(TextLocation("title"), context.content.title)]
    passages.append(Passage(TextLocation("preheader"), context.content.preheader))
    passages.extend(context.letter.passages)
    if context.has_own_text or not context.content.html.strip():
        passages.extend(parse_text(context.content.text))
    return passages


def _unmatched_braces(passages: list[Passage]) -> Iterator[Finding]:
    unmatched = ((one.location, half) for one in passages if (half := _unmatched_brace(one)))
    for location, (found, missing) in islice(unmatched, _MAX_SHOWN):
        yield advice(
            "unmatched_braces", _fix_in(location), found=found, missing=missing, location=location
        )


def _unmatched_brace(passage: Passage) -> tuple[str, str] | None:
    runs = {found[0] for found in merge_fields.ANY_BRACES.finditer(passage.words)}
    if any(set(run) == {"{"} for run in runs):
        return "{{", "}}"
    return ("}}", "{{") if any(set(run) == {"}"} for run in runs) else None


def _notes(passages: list[Passage], pattern: re.Pattern[str], code: str) -> Iterator[Finding]:
    locations: dict[str, TextLocation] = {}
    for passage in passages:
        for found in pattern.finditer(passage.words):
            locations.setdefault(found[0][: merge_fields.MAX_SHOWN_LENGTH], passage.location)
    for note, location in islice(locations.items(), _MAX_SHOWN):
        yield advice(code, _fix_in(location), note=note, location=location)


def _fix_in(location: TextLocation) -> FixIn:
    return _FIX_IN.get(location.kind, FixIn.LETTER)


def fields_to_count(own: Sequence[ReaderField], *parts: str) -> list[ReaderField]:
    """Return the reader fields in these parts that some readers may see no value of.

    The author's `own` fields count even with a fallback, because they are often empty."""
    found = [field for part in parts for field in merge_fields.iter_fields(part)]
    names = {field.name for field in found}
    without = {field.name for field in found if not field.fallback}
    return [
        *(field for field in READER_FIELDS if field.name in without),
        *(field for field in own if field.name in names),
    ]


def _fields_without_value(context: CheckContext, *, has_unknown: bool) -> Iterator[Finding]:
    fields = fields_to_count(context.own_fields, *(text for _, text in _parts(context)))
    if not fields and not has_unknown:
        used = (field for _, text in _parts(context) for field in merge_fields.iter_fields(text))
        if any(field.name in merge_fields.BODY_FIELDS for field in used):
            yield passed("fields_have_values")
    for field in fields:
        readers, label = context.without_value[field.name], field.label
        if not readers:
            yield passed("field_has_values", label=label)
            continue
        first, fallback = _first_use(context, field)
        if fallback:
            yield passed(
                "field_has_fallback",
                readers=readers,
                total=context.readers,
                label=label,
                fallback=fallback,
            )
            continue
        yield advice(
            "field_without_value",
            _FIX_IN[first],
            readers=readers,
            with_fallback=f"{field.name}|{field.fallback or field.label}",
            fallback=field.fallback or str(field.label),
            field=field.name,
        )


def _first_use(context: CheckContext, field: ReaderField) -> tuple[str, str]:
    """Return the first part that uses a field, preferably without a fallback.

    The second value is the fallback there. The author's own fields bring theirs."""
    uses = [
        (part, found.fallback or (field.fallback if field in context.own_fields else ""))
        for part, text in _parts(context)
        for found in merge_fields.iter_fields(text)
        if found.name == field.name
    ]
    return next((use for use in uses if not use[1]), uses[0])
