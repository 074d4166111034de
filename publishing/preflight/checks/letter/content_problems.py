"""Check for unknown merge fields and other content that cannot be published."""

from collections.abc import Iterator

from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.issue_attributes import LETTER, TEXT
from delivery.mail import merge_fields
from publishing.content.edition_content import ContentProblem
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, name_location, stop
from publishing.preflight.parse_letter import Passage, TextLocation, parse_text

# The keys are the names of the attributes that can have an unknown field.
_UNKNOWN_FIELD = {
    "title": gettext_lazy("The title uses an unknown merge field: {field}"),
    "preview_text": gettext_lazy("The preview text uses an unknown merge field: {field}"),
    "letter": gettext_lazy("The letter uses an unknown merge field: {field}"),
    "text": gettext_lazy("The plain text uses an unknown merge field: {field}"),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find all problems that make the form refuse the content."""
    problems = context.problems
    has_unknown = any(one.merge_field for one in problems)
    locations = _locations_of(context) if has_unknown else {}
    in_letter = {one.sentence for one in problems if one.attribute is LETTER}
    for problem in problems:
        field, has_letter = problem.merge_field, bool(context.content.html.strip())
        is_generated = problem.attribute is TEXT and not context.has_own_text
        if is_generated and (problem.sentence in in_letter or (field and has_letter)):
            continue  # The letter, from which the text is made, already has this finding.
        if field is None:
            yield stop("{sentence}", "", problem.attribute, sentence=problem.sentence)
        else:
            location = locations.get((problem.attribute.name, _folded(field.name)))
            yield _unknown_field(problem, field, location)


def _unknown_field(
    problem: ContentProblem, field: merge_fields.UnknownField, location: TextLocation | None
) -> Finding:
    sentences = [_("You can use: {known}.")]
    if field.meant:
        sentences.insert(0, _("Did you mean “{{{{ {meant} }}}}”?"))
    if location:
        sentences.insert(0, _("Place: {location}."))
    return stop(
        _UNKNOWN_FIELD[problem.attribute.name],
        " ".join(sentences),
        problem.attribute,
        field=f"{{{{ {field.name[: merge_fields.MAX_SHOWN_LENGTH]} }}}}",
        meant=field.meant,
        known=get_text_list([*field.allowed], _("and")),
        location=location and name_location(location),
    )


def _locations_of(context: CheckContext) -> dict[tuple[str, str], TextLocation]:
    """Return the first place of each field, by part and normalised name."""
    found: dict[tuple[str, str], TextLocation] = {}
    for part, passage in _passages_by_part(context):
        for field in merge_fields.iter_fields(passage.words):
            found.setdefault((part, _folded(field.name)), passage.location)
    return found


def _passages_by_part(context: CheckContext) -> Iterator[tuple[str, Passage]]:
    for passage in context.letter.passages:
        yield LETTER.name, passage
    for link in context.letter.links:
        yield LETTER.name, Passage(TextLocation("link"), link.address)
    for passage in parse_text(context.content.text):
        yield TEXT.name, passage


def _folded(name: str) -> str:
    # Write each run of spaces in the name as one space, as in the texts of passages.
    return " ".join(name.split())
