"""Describe each finding in words, and summarise all of them. Pure."""

from collections.abc import Callable
from datetime import datetime

from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from delivery.humanise import digits
from publishing.preflight.finding import Finding, Findings
from publishing.preflight.finding_texts import (
    DUPLICATE,
    DUPLICATE_DETAIL,
    TEXTS,
    UNKNOWN_FIELD,
    name_location,
)
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
    if finding.code == "unknown_field":
        unknown = str(UNKNOWN_FIELD[str(params["part"])]).format(**params)
        return unknown, _explain_unknown_field(params)
    if finding.code == "duplicate":
        kind = bool(params["same_words"]), bool(params["is_scheduled"])
        return str(DUPLICATE[kind]).format(**params), str(DUPLICATE_DETAIL)
    sentence, detail = TEXTS[finding.code]
    return sentence.format(**params), detail.format(**params)


def _explain_unknown_field(params: dict[str, object]) -> str:
    sentences = [_("You can use: {known}.").format(**params)]
    if params["meant"]:
        sentences.insert(0, _("Did you mean “{{{{ {meant} }}}}”?").format(**params))
    if params["location"]:
        sentences.insert(0, _("Place: {location}.").format(**params))
    return " ".join(sentences)


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
        return name_location(value)
    if isinstance(value, datetime):
        return clock(value)
    if isinstance(value, tuple):
        return get_text_list([*map(str, value)], _("and"))
    return _Count(value) if type(value) is int else value
