"""All checks of the check sheet, in the order in which it shows findings.

To add a check, write a module with `check`, and list it here. A check reads only the context.
"""

from collections.abc import Iterable

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
    missing_test_letter,
    other_issue_sending,
    published_before,
    readers_of_issue,
    running_worker,
)
from publishing.preflight.finding import Finding, Findings, Severity

CHECKS = (
    content_problems,
    forgotten_notes,
    subject_length,
    scripts_in_letter,
    empty_merge_fields,
    readers_of_issue,
    missing_test_letter,
    published_before,
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


def run_checks(context: CheckContext, refusals: Iterable[Finding] = ()) -> Findings:
    """Run all checks, and add a draft's `refusals` to the findings."""
    found = [*(finding for one in CHECKS for finding in one.check(context)), *refusals]
    return {severity: [one for one in found if one.severity is severity] for severity in Severity}
