"""The result of a check: a code with parameters. Each check has its own texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from delivery.issue_attributes import CONTENT_ATTRIBUTES, LETTER, IssueAttribute
from publishing.preflight.parse_letter import TextLocation

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


class Severity(StrEnum):
    """The effect of a finding on publishing."""

    STOPS = "stops"
    ADVICE = "advice"
    UNKNOWN = "unknown"
    PASSED = "passed"


class FixIn(StrEnum):
    """Where a finding can be fixed, if not in what the author writes."""

    NOWHERE = ""
    TEST = "test"
    NEWSLETTER = "newsletter"
    SENDER = "sender"
    READERS = "readers"
    PROGRESS = "progress"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check."""

    severity: Severity
    code: str
    fix_in: FixIn | IssueAttribute = FixIn.NOWHERE
    params: Mapping[str, object] = field(default_factory=dict)
    examples: tuple[str, ...] = ()


# All findings by severity, each in the order of the checks.
Findings = Mapping[str, Sequence[Finding]]


def _finding(
    severity: Severity,
    code: str,
    fix_in: FixIn | IssueAttribute = FixIn.NOWHERE,
    *,
    examples: Iterable[str] = (),
    **params: object,
) -> Finding:
    return Finding(severity, code, fix_in, params, tuple(dict.fromkeys(examples)))


stop = partial(_finding, Severity.STOPS)
advice = partial(_finding, Severity.ADVICE)
unknown = partial(_finding, Severity.UNKNOWN)
passed = partial(_finding, Severity.PASSED)


class FindingText(NamedTuple):
    """The finding, and its reason or the next step. Both have named parameters."""

    sentence: str | _StrPromise
    detail: str | _StrPromise = ""


Params: TypeAlias = Mapping[str, object]
# The texts of a check by code; a function where the parameters choose the sentences.
Texts: TypeAlias = Mapping[str, FindingText | Callable[[Params], tuple[str, str]]]

_BY_NAME = {one.name: one for one in CONTENT_ATTRIBUTES}


def fix_at(location: TextLocation) -> IssueAttribute:
    """Return where to fix a finding at this place of the letter."""
    return _BY_NAME.get(location.kind, LETTER)
