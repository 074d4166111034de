"""Check for content that cannot be published and unknown merge fields. Pure."""

from collections.abc import Iterator

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from delivery.issue_attributes import LETTER, TEXT
from delivery.mail import merge_fields
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, Params, Texts, stop
from publishing.preflight.parse_letter import Passage, TextLocation, parse_text

# By the name of the attribute.
_UNKNOWN_FIELD = {
    "title": _("The title uses an unknown merge field: {field}"),
    "preview_text": _("The preview text uses an unknown merge field: {field}"),
    "letter": _("The letter uses an unknown merge field: {field}"),
    "text": _("The plain text uses an unknown merge field: {field}"),
}


def _describe_unknown_field(params: Params) -> tuple[str, str]:
    sentences = [gettext("You can use: {known}.").format(**params)]
    if params["meant"]:
        sentences.insert(0, gettext("Did you mean “{{{{ {meant} }}}}”?").format(**params))
    if params["location"]:
        sentences.insert(0, gettext("Place: {location}.").format(**params))
    return str(_UNKNOWN_FIELD[str(params["part"])]).format(**params), " ".join(sentences)


TEXTS: Texts = {
    "unknown_field": _describe_unknown_field,
    "content_problem": FindingText("{sentence}"),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find everything for which the form refuses the content."""
    problems = context.problems
    unknown = {
        (one.attribute.name, _folded(one.merge_field.name)) for one in problems if one.merge_field
    }
    locations = _locations_of(context, unknown)
    in_letter = {one.sentence for one in problems if one.attribute is LETTER}
    for problem in problems:
        field, part = problem.merge_field, problem.attribute.name
        is_generated = problem.attribute is TEXT and not context.has_own_text
        has_letter = bool(context.content.html.strip())
        if is_generated and (problem.sentence in in_letter or (field and has_letter)):
            continue  # reported for the letter, from which this text is made
        if field is None:
            yield stop("content_problem", problem.attribute, sentence=problem.sentence)
            continue
        yield stop(
            "unknown_field",
            problem.attribute,
            part=part,
            location=locations.get((part, _folded(field.name)), ""),
            meant=field.meant,
            known=field.allowed,
            field=field.name[: merge_fields.MAX_SHOWN_LENGTH],
        )


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
        yield LETTER.name, passage
    for link in context.letter.links:
        yield LETTER.name, Passage(TextLocation("link"), link.address)
    for passage in parse_text(context.content.text):
        yield TEXT.name, passage


def _folded(name: str) -> str:
    # The spaces of a passage are folded.
    return " ".join(name.split())
