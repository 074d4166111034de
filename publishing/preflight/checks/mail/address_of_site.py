"""Check that readers can reach the site."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice
from publishing.preflight.link_address import looks_public


def check(context: CheckContext) -> Iterator[Finding]:
    """Find a site that only its own machine or network can reach."""
    if not looks_public(context.site_url):
        yield advice(
            _("Readers cannot reach this site"),
            _(
                "Unsubscribe links, archive pages and your images use {site_url}. An operator must "
                "set SITE_URL to the public address."
            ),
            site_url=context.site_url,
        )
