"""Check the rules for versions, tags, archive, chosen address and approval."""

import uuid
from collections.abc import Iterator

from django.utils.translation import gettext as _

from publishing.approval.record_approval import approval_refusal
from publishing.content.edition_content import Content
from publishing.editions.archive_visibility import page_refusal
from publishing.editions.audience import DELETED_TAG, TagChoice
from publishing.editions.issue_address import AddressTakenError, plan_address
from publishing.editions.versions import VersionPlan, version_refusal
from publishing.models import Draft, Visibility
from publishing.preflight.finding import Finding, FixIn, stop


def find_refusals(
    draft: Draft,
    content: Content,
    plan: VersionPlan | None,
    tags: TagChoice,
    *,
    visibility: Visibility,
    publisher: uuid.UUID,
) -> Iterator[Finding]:
    """Find why publishing would be refused; `plan` is None for a new issue."""
    version = plan.version if plan else None
    if refusal := version_refusal(draft.issue_id, version, draft.goes_to):
        fix_in = FixIn.PROGRESS if plan else FixIn.NOWHERE
        yield stop("{refusal}", "", fix_in, refusal=refusal)
    if tags.has_deleted:
        yield stop(DELETED_TAG)
    if refusal := page_refusal(visibility, draft.goes_to):
        yield stop("{refusal}", refusal=refusal)
    address = plan_address(draft, content.plain_title)
    if address.is_chosen and address.is_taken:
        yield stop("{refusal}", refusal=AddressTakenError(address.words))
    if awaits := approval_refusal(draft, publisher, content):
        yield stop(_("Another author must approve this version"), "{awaits}", awaits=awaits)
