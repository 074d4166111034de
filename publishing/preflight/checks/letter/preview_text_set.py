"""Check that the letter has a preview text. Pure."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from delivery.issue_attributes import PREHEADER
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, Texts, advice, passed

TEXTS: Texts = {
    "preheader_set": FindingText(_("The preview text is set.")),
    "no_preheader": FindingText(
        _("There is no preview text"),
        _("Inboxes show the first words of the letter beside the subject instead."),
    ),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a letter without preview text."""
    # A complete HTML document brings its own, so `preheader` is not used there.
    if context.content.preheader:
        yield passed("preheader_set")
    elif context.mail.html.strip():
        yield advice("no_preheader", PREHEADER)
