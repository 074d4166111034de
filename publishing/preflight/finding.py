"""The findings of the checks: what each says, and where it can be fixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delivery.humanise import Count
from delivery.issue_attributes import CONTENT_ATTRIBUTES, LETTER, IssueAttribute
from publishing.preflight.parse_letter import TextLocation

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

Words: TypeAlias = "str | _StrPromise"


class Severity(StrEnum):
    """The effect of a finding on publishing."""

    STOPS = "stops"
    ADVICE = "advice"
    UNKNOWN = "unknown"
    PASSED = "passed"


class FixIn(StrEnum):
    """The page on which a finding can be fixed, if that is not the composer."""

    NOWHERE = ""
    TEST = "test"
    NEWSLETTER = "newsletter"
    SENDER = "sender"
    READERS = "readers"
    PROGRESS = "progress"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check: a sentence, and the reason or the next step.

    If the finding is about another issue, `issue` is the id of that issue.
    """

    severity: Severity
    sentence: str
    detail: str = ""
    fix_in: FixIn | IssueAttribute = FixIn.NOWHERE
    examples: tuple[str, ...] = ()
    issue: str = ""


# The findings of each severity, in the order of the checks.
Findings = Mapping[str, Sequence[Finding]]


def _finding(
    severity: Severity,
    sentence: Words,
    detail: Words = "",
    fix_in: FixIn | IssueAttribute = FixIn.NOWHERE,
    /,
    *,
    examples: Iterable[str] = (),
    issue: str = "",
    **params: object,
) -> Finding:
    """Return a finding with the parameters written into its sentence and detail."""
    written = {
        name: Count(value) if type(value) is int else value for name, value in params.items()
    }
    texts = (sentence.format(**written), detail.format(**written))
    return Finding(severity, *texts, fix_in, tuple(dict.fromkeys(examples)), issue)


stop = partial(_finding, Severity.STOPS)
advice = partial(_finding, Severity.ADVICE)
unknown = partial(_finding, Severity.UNKNOWN)
passed = partial(_finding, Severity.PASSED)


def summarise(findings: Findings) -> str:
    """Return the number of findings of each severity, in short sentences."""
    stops, advised, unknown = (len(findings[one]) for one in ("stops", "advice", "unknown"))
    sentences = [_("Must fix: {n}.").format(n=stops) if stops else _("Ready to publish.")]
    if advised:
        sentences.append(_("Advice: {n}.").format(n=advised))
    if unknown:
        sentences.append(_("Not checked: {n}.").format(n=unknown))
    return " ".join(sentences)


def refuse(findings: Findings) -> str:
    """Return a sentence with the number of problems to fix and the first problem.

    The result is empty if nothing prevents publishing.
    """
    stops = findings["stops"]
    if not stops:
        return ""
    return ngettext(
        "{n} problem to fix: {sentence}", "{n} problems to fix. The first: {sentence}", len(stops)
    ).format(n=len(stops), sentence=f"{stops[0].sentence.removesuffix('.')}.")


_BY_NAME = {one.name: one for one in CONTENT_ATTRIBUTES}
_LOCATIONS = {
    "title": gettext_lazy("title"),
    "preview_text": gettext_lazy("preview text"),
    "link": gettext_lazy("address of a link"),
    "paragraph": gettext_lazy("paragraph {number}"),
    "text": gettext_lazy("plain text, paragraph {number}"),
    "heading": gettext_lazy("heading"),
    "table": gettext_lazy("table"),
    "list": gettext_lazy("list"),
    "quotation": gettext_lazy("quotation"),
}


def fix_at(location: TextLocation) -> IssueAttribute:
    """Return the attribute in which to fix a finding at this place of the letter."""
    return _BY_NAME.get(location.kind, LETTER)


def name_location(location: TextLocation) -> str:
    """Return the name of a place in the letter, such as “paragraph 3”."""
    return str(_LOCATIONS[location.kind]).format(number=location.number)
