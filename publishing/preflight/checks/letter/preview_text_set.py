"""Check that the letter has a preview text."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from delivery.issue_attributes import PREVIEW_TEXT
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice, passed


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a letter without preview text."""
    # A complete HTML document has its own preview text, so `preview_text` is not used there.
    if context.content.preview_text:
        yield passed(_("The preview text is set."))
    elif context.mail.html.strip():
        yield advice(
            _("There is no preview text"),
            _("Inboxes show the first words of the letter beside the subject instead."),
            PREVIEW_TEXT,
        )
