"""Check that phones show the whole subject."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from delivery.issue_attributes import TITLE
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice

# Most phones show this many characters of a subject. The narrowest phones show fewer, about 40.
SHOWN_ON_A_PHONE = 50


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a subject that phones cut off."""
    length = len(context.content.plain_title)
    if length > SHOWN_ON_A_PHONE:
        yield advice(
            _("The subject has {length} characters; phones show about {shown}"),
            _("The rest is cut off. Put the important part first."),
            TITLE,
            length=length,
            shown=SHOWN_ON_A_PHONE,
        )
