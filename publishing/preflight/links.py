"""
Check the links of a letter: their addresses, and the results of opening them.

Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from urllib.parse import unquote

from django.utils.translation import gettext as _

from delivery.reader_fields import ReaderField
from publishing.content.edition_content import Content
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, FixIn, advice, passed, unknown
from publishing.preflight.link_address import (
    AddressPart,
    FieldInAddress,
    absolute_url,
    addresses_in,
    fields_in_addresses,
    is_encrypted,
    is_web_url,
    looks_public,
    split_url,
)
from publishing.preflight.parse_letter import Link, ParsedLetter

_IGNORED_SCHEMES = ("tel:", "sms:", "#")
_MAX_URL_BYTES = 2000
# One run opens 40 of them, so five runs open all.
MAX_OPENED = 200
_MAX_FIELDS = 5
_FIELD_BREAKS = {
    AddressPart.BEGINNING: "field_begins_address",
    AddressPart.HOST: "field_in_host",
    AddressPart.RECIPIENT: "field_is_recipient",
}
_WRITTEN_WRONG = (
    "links_empty",
    "links_relative",
    "links_unsupported",
    "links_private",
    "links_over_http",
)


def links_to_open(letter: ParsedLetter, site_url: str) -> list[str]:
    """Return the first `MAX_OPENED` distinct URLs that can be opened, in order."""
    return list(islice(_can_be_opened(letter, site_url), MAX_OPENED))


def _can_be_opened(letter: ParsedLetter, site_url: str) -> Iterator[str]:
    urls = dict.fromkeys(absolute_url(link.address, site_url) for link in letter.links)
    return (
        url
        for url in urls
        if "{{" not in unquote(url)
        and len(url.encode()) <= _MAX_URL_BYTES
        and url.isprintable()
        and is_web_url(url)
        and looks_public(url)
    )


def check_links(context: CheckContext) -> Iterator[Finding]:
    """Yield the findings about links; none for a letter without links."""
    links = [link for link in context.letter.links if not _is_merge_field(link)]
    if links:
        yield from _check_as_written(links, context.site_url)
    yield from _check_results(context)
    yield from _check_fields(context)


def _check_fields(context: CheckContext) -> Iterator[Finding]:
    for one in fields_to_match(context.content, context.letter, context.own_fields):
        unfit, empty = context.unfit_values.get((one.field, one.part), (0, 0))
        if readers := unfit + (0 if one.has_valid_fallback else empty):
            code, examples = _FIELD_BREAKS[one.part], [one.address]
            yield advice(code, FixIn.LETTER, examples=examples, field=one.field, readers=readers)


def fields_to_match(
    content: Content, letter: ParsedLetter, own: Iterable[ReaderField]
) -> list[FieldInAddress]:
    """Return the first fields whose values may make an address invalid."""
    if content.html.strip():
        addresses = [link.address for link in letter.links]
        addresses += [image.address for image in letter.images]
    else:
        addresses = list(addresses_in(content.text))
    return fields_in_addresses(addresses, own)[:_MAX_FIELDS]


def _check_as_written(links: list[Link], site_url: str) -> Iterator[Finding]:
    found: dict[str, list[str]] = defaultdict(list)
    for link in links:
        url = absolute_url(link.address, site_url)
        if code := _written_wrong(url):
            found[code].append((link.words or _("(no text)")) if code == "links_empty" else url)
    for code in _WRITTEN_WRONG:
        if urls := found[code]:
            yield advice(code, FixIn.LETTER, examples=urls, links=len(urls))
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


def _check_results(context: CheckContext) -> Iterator[Finding]:
    all_urls = list(_can_be_opened(context.letter, context.site_url))
    urls = all_urls[:MAX_OPENED]
    if not urls:
        return
    known = context.external.links
    results = {url: known[url] for url in urls if url in known}
    by_reason: dict[tuple[int, str], list[str]] = defaultdict(list)
    for url, result in results.items():
        if result.is_dead:
            by_reason[result.status, result.words].append(url)
    for (status, error), dead in by_reason.items():
        code, count = "links_failed" if status else "links_dead", len(dead)
        reason = {"status": str(status), "error": error}
        yield advice(code, FixIn.LETTER, examples=dead, links=count, **reason)
    if unclear := [url for url, one in results.items() if not (one.is_dead or one.is_ok)]:
        reasons = ", ".join(sorted({results[url].words for url in unclear}))
        yield unknown(
            "links_unclear", FixIn.LETTER, examples=unclear, links=len(unclear), results=reasons
        )
    left = [url for url in urls if url not in results]
    if context.external.links_at is None:
        yield unknown("links_unopened")
    elif left:
        yield unknown("links_timed_out", FixIn.LETTER, examples=left, links=len(left))
    if beyond := len(all_urls) - len(urls):
        yield unknown("links_beyond_limit", FixIn.LETTER, links=beyond, limit=MAX_OPENED)
    if all(url in results and results[url].is_ok for url in urls):
        yield passed("first_links_ok" if beyond else "links_ok", links=len(urls))


def _is_merge_field(link: Link) -> bool:
    return link.address.startswith("{{")


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
