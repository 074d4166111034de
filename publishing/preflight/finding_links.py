"""Findings as the page shows them, each with a link to where it can be fixed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from publishing.models import Draft
from publishing.preflight.finding import Finding, FixIn
from publishing.preflight.finding_sentences import Clock, describe, merge_field_of
from subscribers.permissions import MANAGE

# More examples of a finding are only counted.
MAX_EXAMPLES = 5

_FIX_IN_DRAFT = {
    FixIn.TITLE: ("#id_title", "Fix in the title"),
    FixIn.PREHEADER: ("#id_preheader", "Write the preview text"),
    FixIn.LETTER: ("#id_letter", "Fix in the letter"),
    FixIn.TEXT: ("#id_text_content", "Fix in the text part"),
    FixIn.TEST: ("", "Send a test from the letter"),
}


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding in words; `more` counts the examples that are not shown."""

    sentence: str
    merge_field: str
    detail: str
    examples: tuple[str, ...]
    more: int
    url: str
    label: str


def finding_rows(
    findings: Iterable[Finding], clock: Clock, draft: Draft, request: HttpRequest
) -> list[FindingRow]:
    """Findings with links to where each can be fixed, if this user may go there."""
    rows = []
    for finding in findings:
        sentence, detail = describe(finding, clock)
        shown, more = finding.examples[:MAX_EXAMPLES], len(finding.examples) - MAX_EXAMPLES
        url, label = _fix_link(finding, draft, request)
        field = merge_field_of(finding)
        rows.append(FindingRow(sentence, field, detail, shown, max(0, more), url, label))
    return rows


def _fix_link(finding: Finding, draft: Draft, request: HttpRequest) -> tuple[str, str]:
    if finding.fix_in in _FIX_IN_DRAFT:
        anchor, label = _FIX_IN_DRAFT[finding.fix_in]
        return f"{reverse('desk:draft', args=[draft.pk])}{anchor}", label
    user = request.user
    if finding.fix_in is FixIn.NEWSLETTER and user.has_perm("delivery.change_newsletter"):
        return reverse("admin:delivery_newsletter_change", args=[1]), "Set it in the admin"
    if finding.fix_in is FixIn.READERS and user.has_perm(MANAGE):
        return reverse("readers:list"), "See the readers"
    issue = finding.issue or draft.issue_id
    if finding.fix_in is FixIn.PROGRESS and issue:
        return reverse("desk:progress", args=[issue]), "View status"
    return "", ""
