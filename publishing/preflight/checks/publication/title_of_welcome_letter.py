"""Find a draft that has the title of the welcome letter."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from publishing.editions.welcome_letter import has_title_of_welcome_letter
from publishing.preflight.draft_to_check import DraftToCheck
from publishing.preflight.finding import Finding, FindingText, Texts, advice

TEXTS: Texts = {
    "is_welcome_letter": FindingText(
        _("This draft has the title of your welcome letter"),
        _("New readers get that letter already. Publishing sends the draft to all readers too."),
    ),
}


def check(checked: DraftToCheck) -> Iterator[Finding]:
    """Find a letter that new readers get already."""
    if has_title_of_welcome_letter(checked.content.title):
        yield advice("is_welcome_letter")
