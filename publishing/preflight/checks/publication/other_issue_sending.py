"""Find other issues that are being sent."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from delivery.reports.load_edition_counts import load_all_counts, load_open_newsletters
from publishing.content.edition_content import Content
from publishing.models import Draft
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, FixIn, Texts, advice

TEXTS: Texts = {
    "other_issue_sending": FindingText(
        _("“{title}” is still being sent"),
        ngettext_lazy(
            "{waiting} copy is queued. Homing alternates between the two issues.",
            "{waiting} copies are queued. Homing alternates between the two issues.",
            "waiting",
        ),
    ),
}


def load_other_issues(draft: Draft) -> list[dict[str, Any]]:
    """Return the other issues with queued copies."""
    return [
        {
            "issue": str(counts.issue),
            "title": Content(title=counts.title).plain_title,
            "waiting": counts.waiting,
        }
        for counts in load_all_counts(load_open_newsletters())
        if counts.waiting and counts.control == "running" and counts.issue != draft.issue_id
    ]


def check(context: CheckContext) -> Iterator[Finding]:
    """Find issues with which this one would alternate."""
    if context.is_mailed:
        for other in context.other_issues:
            yield advice("other_issue_sending", FixIn.PROGRESS, **other)
