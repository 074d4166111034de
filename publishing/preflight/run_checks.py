"""Run all checks, and group their findings by severity. Pure."""

from dataclasses import dataclass

from publishing.preflight.context import check_context
from publishing.preflight.facts import Facts
from publishing.preflight.finding import Finding, Severity
from publishing.preflight.images import check_images
from publishing.preflight.links import check_links
from publishing.preflight.message import check_message
from publishing.preflight.sender import check_sender
from publishing.preflight.words import check_words

_CHECKS = (check_words, check_context, check_images, check_links, check_message, check_sender)


@dataclass(frozen=True, slots=True)
class Findings:
    """All findings by severity, each in the order of the checks."""

    stops: tuple[Finding, ...]
    advice: tuple[Finding, ...]
    unknown: tuple[Finding, ...]
    passed: tuple[Finding, ...]


def run_checks(facts: Facts, *more: Finding) -> Findings:
    """Run all checks; `more` are findings that need no check."""
    found = [*(finding for check in _CHECKS for finding in check(facts)), *more]
    return Findings(
        *(tuple(one for one in found if one.severity is severity) for severity in Severity)
    )
