"""Find notes that the author forgot, and merge fields of other programs. Pure."""

import re
from collections.abc import Iterator
from itertools import islice

from django.utils.translation import gettext_lazy as _

from delivery.mail.merge_fields import MAX_SHOWN_LENGTH
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, Texts, advice, fix_at
from publishing.preflight.parse_letter import TextLocation

# Capitals only: “todo” is a word in Spanish and Portuguese.
_NOTE = re.compile(r"\b(?:TODO|FIXME|XXX|TBD)\b|[Ll]orem ipsum")

_FOREIGN_FIELD = re.compile(r"\*\|[A-Z][A-Z0-9_:]*\|\*|%%[a-z_]+%%|\[\[[a-z_]+\]\]")

_MAX_SHOWN = 5
TEXTS: Texts = {
    "forgotten_note": FindingText(
        _("“{note}” looks like a forgotten note ({location})"),
        _("Readers see it as it is written."),
    ),
    "foreign_merge_field": FindingText(
        _("“{note}” looks like a merge field of another program ({location})"),
        _("Readers see it as it is written. In Homing, write {{{{ name|reader }}}}."),
    ),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find each note once, with its first place."""
    for pattern, code in ((_NOTE, "forgotten_note"), (_FOREIGN_FIELD, "foreign_merge_field")):
        locations: dict[str, TextLocation] = {}
        for passage in context.passages:
            for found in pattern.finditer(passage.words):
                locations.setdefault(found[0][:MAX_SHOWN_LENGTH], passage.location)
        for note, location in islice(locations.items(), _MAX_SHOWN):
            yield advice(code, fix_at(location), note=note, location=location)
