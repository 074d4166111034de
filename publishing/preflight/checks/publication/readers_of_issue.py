"""Check that the issue goes to at least one reader."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FixIn, advice, passed


def check(context: CheckContext) -> Iterator[Finding]:
    """Find an issue that would go to nobody."""
    where = context.archive_note
    if not context.is_mailed:
        yield passed(_("Not mailed: archive only. {archive_note}"), archive_note=where)
    elif not context.readers:
        yield advice(
            _("This issue would go to nobody"),
            _("None of the chosen readers is confirmed. {archive_note}"),
            FixIn.READERS,
            archive_note=where,
        )
