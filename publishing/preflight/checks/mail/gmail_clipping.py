"""Check the size of the mail against the size at which Gmail cuts. Pure."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from delivery.humanise import KB, kilobytes
from delivery.issue_attributes import LETTER
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, Texts, advice, passed

GMAIL_CUTS_AT = 102 * KB

_NEARLY = 0.9

TEXTS: Texts = {
    "clipped": FindingText(
        _("Gmail will cut off this letter: it has {size} kB"),
        _(
            "Gmail hides everything after 102 kB, including the unsubscribe link. Shorten the "
            "letter. Images do not count."
        ),
    ),
    "nearly_clipped": FindingText(
        _("The letter has {size} kB, and Gmail cuts at 102 kB"),
        _("The values of merge fields add to this size."),
    ),
    "size_ok": FindingText(_("The size is well below the limit.")),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a mail that Gmail cuts off."""
    size = len(context.mail.html.encode("utf-8", "surrogatepass"))
    if size > GMAIL_CUTS_AT:
        yield advice("clipped", LETTER, size=kilobytes(size))
    elif size > GMAIL_CUTS_AT * _NEARLY:
        yield advice("nearly_clipped", LETTER, size=kilobytes(size))
    elif size:
        yield passed("size_ok")
