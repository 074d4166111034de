"""Find other issues, and earlier versions, that are being sent."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from delivery.reports.load_edition_counts import load_all_counts, load_open_newsletters
from publishing.content.edition_content import Content
from publishing.models import Draft
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FixIn, advice


def load_other_issues(draft: Draft) -> list[dict[str, Any]]:
    """Return parameters for findings about other issues that have queued copies."""
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
    """Find other issues and earlier versions that are still being sent."""
    for warning in context.overlap_warnings:
        yield advice("{warning}", "", FixIn.PROGRESS, warning=warning)
    for other in context.other_issues if context.is_mailed else ():
        yield advice(
            _("“{title}” is still being sent"),
            ngettext_lazy(
                "{waiting} copy is queued. Homing alternates between the two issues.",
                "{waiting} copies are queued. Homing alternates between the two issues.",
                "waiting",
            ),
            FixIn.PROGRESS,
            **other,
        )
