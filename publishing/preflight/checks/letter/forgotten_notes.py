"""Find incomplete merge fields, forgotten notes, and other programs' merge fields."""

import re
from collections.abc import Iterator
from itertools import islice

from django.utils.translation import gettext_lazy as _

from delivery.mail.merge_fields import ANY_BRACES, MAX_SHOWN_LENGTH
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice, fix_at, name_location
from publishing.preflight.parse_letter import Passage, TextLocation

_READ_AS_WRITTEN = _("Readers see it as it is written.")
_NOTES = (
    (
        # Match capitals only, because “todo” is a word in Spanish and Portuguese.
        re.compile(r"\b(?:TODO|FIXME|XXX|TBD)\b|[Ll]orem ipsum"),
        _("“{note}” looks like a forgotten note ({location})"),
        _READ_AS_WRITTEN,
    ),
    (
        re.compile(r"\*\|[A-Z][A-Z0-9_:]*\|\*|%%[a-z_]+%%|\[\[[a-z_]+\]\]"),
        _("“{note}” looks like a merge field of another program ({location})"),
        _("Readers see it as it is written. In Homing, write {{{{ name|reader }}}}."),
    ),
)
_MAX_SHOWN = 5


def check(context: CheckContext) -> Iterator[Finding]:
    """Find incomplete merge fields, and each forgotten note once, at its first place."""
    passages = context.passages
    unmatched = ((one.location, half) for one in passages if (half := _unmatched_brace(one)))
    for location, (found, missing) in islice(unmatched, _MAX_SHOWN):
        yield advice(
            _("“{found}” has no matching “{missing}” ({location})"),
            _("Readers see it as it is written. A merge field needs both."),
            fix_at(location),
            found=found,
            missing=missing,
            location=name_location(location),
        )
    for pattern, sentence, detail in _NOTES:
        locations: dict[str, TextLocation] = {}
        for passage in passages:
            for note in pattern.finditer(passage.words):
                locations.setdefault(note[0][:MAX_SHOWN_LENGTH], passage.location)
        for words, location in islice(locations.items(), _MAX_SHOWN):
            place = name_location(location)
            yield advice(sentence, detail, fix_at(location), note=words, location=place)


def _unmatched_brace(passage: Passage) -> tuple[str, str] | None:
    runs = {found[0] for found in ANY_BRACES.finditer(passage.words)}
    if any(set(run) == {"{"} for run in runs):
        return "{{", "}}"
    return ("}}", "{{") if any(set(run) == {"}"} for run in runs) else None
