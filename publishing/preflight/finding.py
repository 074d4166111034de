"""The result of a check: a code with parameters. `finding_texts.py` has the texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial


class Severity(StrEnum):
    """The effect of a finding on publishing."""

    STOPS = "stops"
    ADVICE = "advice"
    UNKNOWN = "unknown"
    PASSED = "passed"


class FixIn(StrEnum):
    """Where a finding can be fixed."""

    NOWHERE = ""
    TITLE = "title"
    PREHEADER = "preheader"
    LETTER = "letter"
    TEXT = "text"
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
    fix_in: FixIn = FixIn.NOWHERE
    params: Mapping[str, object] = field(default_factory=dict)
    examples: tuple[str, ...] = ()


# All findings by severity, each in the order of the checks.
Findings = Mapping[str, Sequence[Finding]]


def _finding(
    severity: Severity,
    code: str,
    fix_in: FixIn = FixIn.NOWHERE,
    *,
    examples: Iterable[str] = (),
    **params: object,
) -> Finding:
    return Finding(severity, code, fix_in, params, tuple(dict.fromkeys(examples)))


stop = partial(_finding, Severity.STOPS)
advice = partial(_finding, Severity.ADVICE)
unknown = partial(_finding, Severity.UNKNOWN)
passed = partial(_finding, Severity.PASSED)
