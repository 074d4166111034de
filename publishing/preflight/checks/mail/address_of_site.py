"""Check that readers can reach the site. Pure."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, Texts, advice
from publishing.preflight.link_address import looks_public

TEXTS: Texts = {
    "site_unreachable": FindingText(
        _("Readers cannot reach this site"),
        _(
            "Unsubscribe links, archive pages and your images use {site_url}. An operator must "
            "set SITE_URL to the public address."
        ),
    ),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a site that only its own machine or network can reach."""
    if not looks_public(context.site_url):
        yield advice("site_unreachable", site_url=context.site_url)
