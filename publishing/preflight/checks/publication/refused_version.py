"""Check the rules for versions, tags, the archive and the chosen address."""

from collections.abc import Iterator

from publishing.editions.archive_visibility import page_refusal
from publishing.editions.issue_address import AddressTakenError, plan_address
from publishing.editions.tag_sentences import DELETED_TAG
from publishing.editions.versions import version_refusal
from publishing.preflight.draft_to_check import DraftToCheck
from publishing.preflight.finding import Finding, FindingText, FixIn, Texts, stop

TEXTS: Texts = {
    "version_refused": FindingText("{sentence}"),
}


def check(checked: DraftToCheck) -> Iterator[Finding]:
    """Find the reasons why publishing would be refused."""
    draft, plan = checked.draft, checked.plan
    version = plan.version if plan else None
    if refusal := version_refusal(draft.issue_id, version, draft.goes_to):
        fix_in = FixIn.PROGRESS if plan else FixIn.NOWHERE
        yield stop("version_refused", fix_in, sentence=refusal)
    if checked.tags.has_deleted:
        yield stop("version_refused", sentence=str(DELETED_TAG))
    if refusal := page_refusal(checked.visibility, draft.goes_to):
        yield stop("version_refused", sentence=refusal)
    address = plan_address(draft, checked.content.plain_title)
    if address.is_chosen and address.is_taken:
        yield stop("version_refused", sentence=str(AddressTakenError(address.words)))
