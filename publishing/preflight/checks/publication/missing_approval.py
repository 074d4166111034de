"""Check that another author approved the version, where the settings require it."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from publishing.approval.record_approval import approval_refusal
from publishing.preflight.draft_to_check import DraftToCheck
from publishing.preflight.finding import Finding, FindingText, Texts, stop

TEXTS: Texts = {
    "needs_approval": FindingText(_("Another author must approve this version"), "{sentence}"),
}


def check(checked: DraftToCheck) -> Iterator[Finding]:
    """Find a version that awaits its approval."""
    if awaits := approval_refusal(checked.draft, checked.publisher, checked.content):
        yield stop("needs_approval", sentence=awaits)
