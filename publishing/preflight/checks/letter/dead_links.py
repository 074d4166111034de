"""Check the results of opening the links of a letter."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from delivery.issue_attributes import LETTER
from publishing.preflight.check_context import CheckContext
from publishing.preflight.finding import Finding, advice, passed, unknown
from publishing.preflight.link_address import absolute_url, is_web_url, looks_public
from publishing.preflight.parse_letter import ParsedLetter

_MAX_URL_BYTES = 2000

# One run of the external checks opens 40 links, so five runs open all 200.
MAX_OPENED = 200


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


def check(context: CheckContext) -> Iterator[Finding]:
    """Find links that do not work, and links that were not opened."""
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
        if status:
            answer = ngettext_lazy(
                "{links} link answers {status}", "{links} links answer {status}", "links"
            )
            yield advice(answer, "", LETTER, examples=dead, links=len(dead), status=str(status))
        else:
            is_dead = ngettext_lazy("{links} link is dead", "{links} links are dead", "links")
            yield advice(
                is_dead, _("Result: {error}."), LETTER, examples=dead, links=len(dead), error=error
            )
    if unclear := [url for url, one in results.items() if not (one.is_dead or one.is_ok)]:
        yield unknown(
            ngettext_lazy(
                "{links} link gave no clear result", "{links} links gave no clear result", "links"
            ),
            _("Result: {results}. Readers may still see the page. Open it once yourself."),
            LETTER,
            examples=unclear,
            links=len(unclear),
            results=", ".join(sorted({results[url].words for url in unclear})),
        )
    left = [url for url in urls if url not in results]
    if context.external.links_at is None:
        yield unknown(_("The links have not been opened yet"))
    elif left:
        could_not = ngettext_lazy(
            "{links} link could not be opened in time",
            "{links} links could not be opened in time",
            "links",
        )
        yield unknown(could_not, "", LETTER, examples=left, links=len(left))
    beyond = len(all_urls) - len(urls)
    answers = ngettext_lazy("{links} link answers.", "{links} links answer.", "links")
    if beyond:
        answers = ngettext_lazy(
            "The first {links} link answers.", "The first {links} links answer.", "links"
        )
        yield unknown(
            ngettext_lazy("{links} link was not opened", "{links} links were not opened", "links"),
            _("Homing opens only the first {limit} links. Open the others yourself."),
            LETTER,
            links=beyond,
            limit=MAX_OPENED,
        )
    if all(url in results and results[url].is_ok for url in urls):
        yield passed(answers, links=len(urls))
