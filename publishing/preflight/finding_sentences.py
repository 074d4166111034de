"""Describe each finding in words, and summarise all of them. Pure."""

from collections.abc import Callable
from datetime import datetime

from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delivery.humanise import digits
from publishing.preflight.finding import Finding, Findings
from publishing.preflight.list_of_checks import TEXTS
from publishing.preflight.parse_letter import TextLocation

Clock = Callable[[datetime], str]


class _Count(int):
    """A number that selects a plural form and is written with separators."""

    def __format__(self, spec: str) -> str:
        return digits(self)


def describe(finding: Finding, clock: Clock) -> tuple[str, str]:
    """Return a finding's sentence and detail; `clock` writes times."""
    params = {name: _as_text(value, clock) for name, value in finding.params.items()}
    if "field" in params:
        params["field"] = f"{{{{ {params['field']} }}}}"
    text = TEXTS[finding.code]
    if callable(text):
        return text(params)
    return text.sentence.format(**params), text.detail.format(**params)


def summarise(findings: Findings) -> str:
    """Return the number of findings of each severity, in short sentences."""
    stops, advised, unknown = (len(findings[one]) for one in ("stops", "advice", "unknown"))
    sentences = [_("Must fix: {n}.").format(n=stops) if stops else _("Ready to publish.")]
    if advised:
        sentences.append(_("Advice: {n}.").format(n=advised))
    if unknown:
        sentences.append(_("Not checked: {n}.").format(n=unknown))
    return " ".join(sentences)


def refuse(findings: Findings, clock: Clock) -> str:
    """Return the number of problems to fix, and the first; empty if there are none."""
    stops = findings["stops"]
    if not stops:
        return ""
    sentence = describe(stops[0], clock)[0]
    return ngettext(
        "{n} problem to fix: {sentence}", "{n} problems to fix. The first: {sentence}", len(stops)
    ).format(n=len(stops), sentence=sentence if sentence.endswith(".") else f"{sentence}.")


def _as_text(value: object, clock: Clock) -> object:
    if isinstance(value, TextLocation):
        return _name_location(value)
    if isinstance(value, datetime):
        return clock(value)
    if isinstance(value, tuple):
        return get_text_list([*map(str, value)], _("and"))
    return _Count(value) if type(value) is int else value


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


def _name_location(location: TextLocation) -> str:
    return str(_LOCATIONS[location.kind]).format(number=location.number)
