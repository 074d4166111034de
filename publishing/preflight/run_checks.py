"""Run all checks, and group their findings by severity. Pure."""

from publishing.preflight.check_context import CheckContext
from publishing.preflight.composed_mail import check_composed_mail
from publishing.preflight.finding import Finding, Findings, Severity
from publishing.preflight.images import check_images
from publishing.preflight.links import check_links
from publishing.preflight.readiness import check_readiness
from publishing.preflight.sender import check_sender
from publishing.preflight.words import check_words

_CHECKS = (
    check_words,
    check_readiness,
    check_images,
    check_links,
    check_composed_mail,
    check_sender,
)


def run_checks(context: CheckContext, *more: Finding) -> Findings:
    """Run all checks; `more` are findings that need no check."""
    found = [*(finding for check in _CHECKS for finding in check(context)), *more]
    return Findings(
        *(tuple(one for one in found if one.severity is severity) for severity in Severity)
    )
