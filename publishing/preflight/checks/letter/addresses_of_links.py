"""Check how the links of a letter are written, without opening them."""

from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import unquote

from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from delivery.issue_attributes import LETTER
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice, passed
from publishing.preflight.link_address import (
    absolute_url,
    is_encrypted,
    is_web_url,
    looks_public,
    split_url,
)
from subscribers.address import read_address
from subscribers.refusal_sentences import InputRefusal

_IGNORED_SCHEMES = ("tel:", "sms:", "#")

_FAULTS = {
    "empty": (
        ngettext_lazy("{links} link has no address", "{links} links have no address", "links"),
        _("Nothing happens when a reader presses such a link."),
    ),
    "relative": (
        ngettext_lazy("{links} link is relative", "{links} links are relative", "links"),
        _("A link in a mail needs a complete address with https://."),
    ),
    "unsupported": (
        ngettext_lazy(
            "{links} link cannot be opened from a mail",
            "{links} links cannot be opened from a mail",
            "links",
        ),
        _("Mail programs open https, mailto and tel links."),
    ),
    "private": (
        ngettext_lazy(
            "{links} link leads to a private address",
            "{links} links lead to private addresses",
            "links",
        ),
        _("Readers cannot reach addresses of this machine or of a private network."),
    ),
    "over_http": (
        ngettext_lazy("{links} link uses http", "{links} links use http", "links"),
        _("Browsers warn before such pages. Most sites also answer under https."),
    ),
}


def check(context: CheckContext) -> Iterator[Finding]:
    """Find links that cannot work as they are written."""
    links = [link for link in context.letter.links if not link.address.startswith("{{")]
    if not links:
        return
    found: dict[str, list[str]] = defaultdict(list)
    for link in links:
        url = absolute_url(link.address, context.site_url)
        if fault := _fault_of(url):
            found[fault].append((link.words or gettext("(no text)")) if fault == "empty" else url)
    for fault, texts in _FAULTS.items():
        if urls := found[fault]:
            yield advice(*texts, LETTER, examples=urls, links=len(urls))
    if not found["relative"]:
        yield passed(_("No relative links."))


def _fault_of(url: str) -> str:
    """Return the key of a URL's fault in `_FAULTS`; empty for a URL without a fault."""
    lower = url.lower()
    if url in ("", "#"):
        return "empty"
    if lower.startswith("mailto:"):
        return "" if "{{" in url or _is_mailto(url) else "unsupported"
    if lower.startswith(_IGNORED_SCHEMES):
        return ""
    if not is_web_url(url):
        parts = split_url(url)
        return "relative" if parts and not parts.scheme else "unsupported"
    if not looks_public(url):
        return "private"
    return "" if is_encrypted(url) else "over_http"


def _is_mailto(url: str) -> bool:
    to = unquote(url[len("mailto:") :].partition("?")[0])
    if not to:
        return True  # valid, because a sharing link leaves the recipient to the reader
    return not any(isinstance(read_address(part), InputRefusal) for part in to.split(","))
