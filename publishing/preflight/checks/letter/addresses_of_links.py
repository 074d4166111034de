"""Check how the links of a letter are written, without opening them. Pure."""

from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import unquote

from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from delivery.issue_attributes import LETTER
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FindingText, Texts, advice, passed
from publishing.preflight.link_address import (
    absolute_url,
    is_encrypted,
    is_web_url,
    looks_public,
    split_url,
)

_IGNORED_SCHEMES = ("tel:", "sms:", "#")

_WRITTEN_WRONG = (
    "links_empty",
    "links_relative",
    "links_unsupported",
    "links_private",
    "links_over_http",
)

TEXTS: Texts = {
    "links_empty": FindingText(
        ngettext_lazy("{links} link has no address", "{links} links have no address", "links"),
        _("Nothing happens when a reader presses such a link."),
    ),
    "links_relative": FindingText(
        ngettext_lazy("{links} link is relative", "{links} links are relative", "links"),
        _("A link in a mail needs a complete address with https://."),
    ),
    "links_unsupported": FindingText(
        ngettext_lazy(
            "{links} link cannot be opened from a mail",
            "{links} links cannot be opened from a mail",
            "links",
        ),
        _("Mail programs open https, mailto and tel links."),
    ),
    "links_private": FindingText(
        ngettext_lazy(
            "{links} link leads to a private address",
            "{links} links lead to private addresses",
            "links",
        ),
        _("Readers cannot reach addresses of this machine or of a private network."),
    ),
    "links_over_http": FindingText(
        ngettext_lazy("{links} link uses http", "{links} links use http", "links"),
        _("Browsers warn before such pages. Most sites also answer under https."),
    ),
    "no_relative_links": FindingText(_("No relative links.")),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find links that cannot work as written; nothing for a letter without links."""
    links = [link for link in context.letter.links if not link.address.startswith("{{")]
    if not links:
        return
    found: dict[str, list[str]] = defaultdict(list)
    for link in links:
        url = absolute_url(link.address, context.site_url)
        if code := _written_wrong(url):
            found[code].append(
                (link.words or gettext("(no text)")) if code == "links_empty" else url
            )
    for code in _WRITTEN_WRONG:
        if urls := found[code]:
            yield advice(code, LETTER, examples=urls, links=len(urls))
    if not found["links_relative"]:
        yield passed("no_relative_links")


def _written_wrong(url: str) -> str:
    """Return the code of a URL's problem; empty if it has none."""
    lower = url.lower()
    if url in ("", "#"):
        return "links_empty"
    if lower.startswith("mailto:"):
        return "" if "{{" in url or _is_mailto(url) else "links_unsupported"
    if lower.startswith(_IGNORED_SCHEMES):
        return ""
    if not is_web_url(url):
        parts = split_url(url)
        return "links_relative" if parts and not parts.scheme else "links_unsupported"
    if not looks_public(url):
        return "links_private"
    return "" if is_encrypted(url) else "links_over_http"


def _is_mailto(url: str) -> bool:
    to = unquote(url[len("mailto:") :].partition("?")[0])
    if not to:
        return True  # the reader chooses the recipient, as in a sharing link
    return all(
        part.strip().count("@") == 1
        and "." in part.rpartition("@")[2]
        and not part.strip().startswith("@")
        and " " not in part.strip()
        for part in to.split(",")
    )
