"""Say where the unsubscribe link is. Pure."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from delivery.mail import merge_fields
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, Texts, passed

TEXTS: Texts = {
    "own_unsubscribe_link": FindingText(
        _("The letter has the unsubscribe link. One-click unsubscribe is included.")
    ),
    "unsubscribe_link": FindingText(
        _("The footer has the unsubscribe link. One-click unsubscribe is included.")
    ),
    "own_link_postmark": FindingText(
        _("The letter has the unsubscribe link. Postmark adds one-click unsubscribe.")
    ),
    "link_postmark": FindingText(
        _("The footer has the unsubscribe link. Postmark adds one-click unsubscribe.")
    ),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Say whether the letter or the footer has the link; every mail has one."""
    is_own = merge_fields.uses_field(
        context.content.html or context.content.text, "unsubscribe_url"
    )
    if context.adds_unsubscribe_link:
        yield passed("own_unsubscribe_link" if is_own else "unsubscribe_link")
    else:
        yield passed("own_link_postmark" if is_own else "link_postmark")
