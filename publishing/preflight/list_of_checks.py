"""All checks of the check sheet, in the order of their findings.

To add a check, write a module with `TEXTS` and `check`, and list it here.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

from publishing.preflight.check_context import CheckContext
from publishing.preflight.checks.letter import (
    addresses_of_links,
    content_problems,
    dead_links,
    empty_merge_fields,
    forgotten_notes,
    image_alt_texts,
    plain_text_part,
    preview_text_set,
    scripts_in_letter,
    subject_length,
    unmatched_braces,
    values_in_links,
)
from publishing.preflight.checks.mail import (
    address_of_site,
    gmail_clipping,
    newsletter_details,
    spf_dkim_dmarc,
    unsubscribe_link,
)
from publishing.preflight.checks.publication import (
    missing_approval,
    missing_test_letter,
    other_issue_sending,
    overlapping_version,
    published_before,
    readers_of_issue,
    refused_version,
    running_worker,
    title_of_welcome_letter,
)
from publishing.preflight.draft_to_check import DraftToCheck
from publishing.preflight.finding import Finding, Findings, Severity, Texts

Checked = TypeVar("Checked", contravariant=True)


class Check(Protocol[Checked]):
    """A module with a check, and with the texts of its findings by code."""

    TEXTS: Texts

    def check(self, checked: Checked, /) -> Iterator[Finding]:
        """Yield what it finds."""


# They read only the context.
CHECKS: Sequence[Check[CheckContext]] = (
    content_problems,
    unmatched_braces,
    forgotten_notes,
    subject_length,
    scripts_in_letter,
    empty_merge_fields,
    readers_of_issue,
    missing_test_letter,
    published_before,
    overlapping_version,
    other_issue_sending,
    running_worker,
    image_alt_texts,
    addresses_of_links,
    dead_links,
    values_in_links,
    gmail_clipping,
    plain_text_part,
    preview_text_set,
    unsubscribe_link,
    newsletter_details,
    address_of_site,
    spf_dkim_dmarc,
)
# They ask the database about the draft.
CHECKS_OF_DRAFT: Sequence[Check[DraftToCheck]] = (
    refused_version,
    title_of_welcome_letter,
    missing_approval,
)
_ALL: Sequence[Check[Any]] = (*CHECKS, *CHECKS_OF_DRAFT)
TEXTS: Texts = {code: text for one in _ALL for code, text in one.TEXTS.items()}


def run_checks(context: CheckContext, checked: DraftToCheck | None = None) -> Findings:
    """Run all checks; without a draft only those of the context."""
    found = [finding for one in CHECKS for finding in one.check(context)]
    if checked:
        found += [finding for one in CHECKS_OF_DRAFT for finding in one.check(checked)]
    return {severity: [one for one in found if one.severity is severity] for severity in Severity}
