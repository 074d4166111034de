"""Check that the issue goes to readers. Pure."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, FixIn, Texts, advice, passed

TEXTS: Texts = {
    "archive_only": FindingText(_("Not mailed: archive only. {archive_note}")),
    "no_readers": FindingText(
        _("This issue would go to nobody"),
        _("None of the chosen readers is confirmed. {archive_note}"),
    ),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find an issue that would go to nobody."""
    if not context.is_mailed:
        yield passed("archive_only", archive_note=context.archive_note)
    elif not context.readers:
        yield advice("no_readers", FixIn.READERS, archive_note=context.archive_note)
