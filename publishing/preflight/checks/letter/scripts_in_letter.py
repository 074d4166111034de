"""Check that the letter has no script."""

import re
from collections.abc import Iterator

from django.utils.translation import gettext as _

from delivery.issue_attributes import LETTER
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice

_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a script in the HTML."""
    if _SCRIPT.search(context.content.html):
        yield advice(
            _("The letter contains a script"),
            _("Mail programs remove scripts, and spam filters may reject the letter."),
            LETTER,
        )
