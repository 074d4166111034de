"""Where a finding is mended: an address, and the words of the link to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from publishing.models import Draft
from publishing.preflight.finding import Finding, Where
from subscribers.permissions import MANAGE

# The examples that are shown of each finding; the rest are counted.
MOST_EXAMPLES = 5

_IN_THE_DRAFT = {
    Where.TITLE: ("#id_title", "Mend in the title"),
    Where.PREHEADER: ("#id_preheader", "Write the preheader"),
    Where.LETTER: ("#id_letter", "Mend in the letter"),
    Where.PICTURES: ("#id_letter", "Mend in the letter"),
    Where.TEXT: ("#id_text_content", "Mend in the text part"),
    Where.TEST: ("", "Send one from the letter"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A finding as the page shows it."""

    finding: Finding
    examples: tuple[str, ...]
    more: int
    leads_to: str
    words: str


def rows_of(findings: Iterable[Finding], draft: Draft, request: HttpRequest) -> list[Row]:
    """The findings with the way to where each is mended, for whoever may go there."""
    return [
        Row(
            finding,
            finding.examples[:MOST_EXAMPLES],
            max(0, len(finding.examples) - MOST_EXAMPLES),
            *_way(finding, draft, request),
        )
        for finding in findings
    ]


def _way(finding: Finding, draft: Draft, request: HttpRequest) -> tuple[str, str]:
    if finding.where in _IN_THE_DRAFT:
        place, words = _IN_THE_DRAFT[finding.where]
        return f"{reverse('desk:draft', args=[draft.pk])}{place}", words
    user = request.user
    if finding.where is Where.NEWSLETTER and user.has_perm("delivery.change_newsletter"):
        return reverse("admin:delivery_newsletter_change", args=[1]), "Set it in the admin"
    if finding.where is Where.READERS and user.has_perm(MANAGE):
        return reverse("readers:list"), "See the readers"
    issue = finding.subject or draft.issue_id
    if finding.where is Where.PROGRESS and issue:
        return reverse("desk:progress", args=[issue]), "See how it stands"
    return "", ""
