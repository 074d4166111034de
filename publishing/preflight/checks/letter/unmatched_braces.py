"""Find half of a merge field. Pure."""

from collections.abc import Iterator
from itertools import islice

from django.utils.translation import gettext_lazy as _

from delivery.mail.merge_fields import ANY_BRACES
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, Texts, advice, fix_at
from publishing.preflight.parse_letter import Passage

_MAX_SHOWN = 5
TEXTS: Texts = {
    "unmatched_braces": FindingText(
        _("“{found}” has no matching “{missing}” ({location})"),
        _("Readers see it as it is written. A merge field needs both."),
    ),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find passages with braces that begin or end no merge field."""
    passages = context.passages
    unmatched = ((one.location, half) for one in passages if (half := _unmatched_brace(one)))
    for location, (found, missing) in islice(unmatched, _MAX_SHOWN):
        yield advice(
            "unmatched_braces", fix_at(location), found=found, missing=missing, location=location
        )


def _unmatched_brace(passage: Passage) -> tuple[str, str] | None:
    runs = {found[0] for found in ANY_BRACES.finditer(passage.words)}
    if any(set(run) == {"{"} for run in runs):
        return "{{", "}}"
    return ("}}", "{{") if any(set(run) == {"}"} for run in runs) else None
