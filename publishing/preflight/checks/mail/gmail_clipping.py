"""Check whether the mail is so large that Gmail cuts it off."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from delivery.humanise import kilobytes
from delivery.issue_attributes import LETTER
from publishing.content.gmail_limit import GMAIL_CLIPS_AT, NEAR_LIMIT
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice, passed


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a mail that Gmail cuts off."""
    size = len(context.mail.html.encode("utf-8", "surrogatepass"))
    if size > GMAIL_CLIPS_AT:
        yield advice(
            _("Gmail will cut off this letter: it has {size} kB"),
            _(
                "Gmail hides everything after 102 kB, including the unsubscribe link. Shorten the "
                "letter. Images do not count."
            ),
            LETTER,
            size=kilobytes(size),
        )
    elif size > NEAR_LIMIT:
        yield advice(
            _("The letter has {size} kB, and Gmail cuts at 102 kB"),
            _("The values of merge fields add to this size."),
            LETTER,
            size=kilobytes(size),
        )
    elif size:
        yield passed(_("The size is well below the limit."))
