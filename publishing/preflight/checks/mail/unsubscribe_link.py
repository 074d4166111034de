"""Say where the unsubscribe link is."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from delivery.interface import provider_name
from delivery.mail import merge_fields
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, passed


def check(context: CheckContext) -> Iterator[Finding]:
    """Say whether the mail's unsubscribe link is in the letter or in the footer."""
    is_own = merge_fields.uses_field(
        context.content.html or context.content.text, "unsubscribe_url"
    )
    if context.adds_unsubscribe_link and is_own:
        yield passed(_("The letter has the unsubscribe link. One-click unsubscribe is included."))
    elif context.adds_unsubscribe_link:
        yield passed(_("The footer has the unsubscribe link. One-click unsubscribe is included."))
    elif is_own:
        yield passed(
            _("The letter has the unsubscribe link. {provider} adds one-click unsubscribe."),
            provider=provider_name(),
        )
    else:
        yield passed(
            _("The footer has the unsubscribe link. {provider} adds one-click unsubscribe."),
            provider=provider_name(),
        )
