"""Where the addresses of links and images are in a letter. Pure, in linear time."""

import re
from collections.abc import Iterator, Sequence

from delivery.mail.normalise_html import iter_attributes, iter_tags

_ATTRIBUTES = frozenset(
    "action background cite data formaction href longdesc poster src xlink:href".split()  # noqa: SIM905
)
_SETS = frozenset({"imagesrcset", "srcset"})
# One address of a set, and the comma or the description after it.
_IN_SET = re.compile(r"[\s,]*+([^\s,](?:[^\s,]|,(?=\S))*+)[^,]*+")
# Text that may be an address. Punctuation of other scripts ends it without a blank.
_RUN = re.compile("[^\\s<>\"'\u2000-\u206f\u3000-\u303f\uff00-\uffef]+")
_SCHEME = re.compile(r"(?<![^\W_])(?:(?i:https?|ftp|webcal)://|(?:mailto|tel|sms|xmpp|geo):)")
_OPAQUE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*+:(?!/)")
# A mail address or a telephone number keeps these (RFC 6068, RFC 3966).
_OF_RECIPIENT = "@+"


def missing_before(address: str, site_url: str) -> str:
    """Return what a mail lacks before an address: this site, or a scheme."""
    if address.startswith("//"):
        return "https:"
    return site_url if address.startswith("/") else ""


def complete_rooted(html: str, site_url: str) -> str:
    """Complete the addresses of links and images that begin with a slash, in any HTML."""
    written, end = list[str](), 0
    for start, stop in _addresses(html):
        if missing := missing_before(html[start : min(stop, start + 2)], site_url):
            written += (html[end:start], missing)
            end = start
    return "".join((*written, html[end:]))


def _addresses(html: str) -> Iterator[tuple[int, int]]:
    """Yield where the addresses are that tags name."""
    for name, rest, rest_end in iter_tags(html):
        if name.startswith("/"):
            continue
        for attribute, start, end in iter_attributes(html, rest, rest_end):
            if attribute in _ATTRIBUTES:
                yield end - len(html[start:end].lstrip()), end
            elif attribute in _SETS:
                for one in _IN_SET.finditer(html, start, end):
                    yield one.span(1)


def safe_in_addresses(
    text: str, mark: str, are_addresses: Sequence[bool], *, html: bool
) -> list[str | None]:
    """Return for each `mark` in the text the characters that stay unencoded.

    It is None outside an address and at the beginning of one. `are_addresses`: marks that are
    complete addresses, so that one begins there."""
    numbers = {found.start(): number for number, found in enumerate(re.finditer(mark, text))}
    safe: list[str | None] = [None] * len(numbers)
    field_before_query = re.compile(rf"[(\[]*+({mark})[^?]*+\?[^=]*+(?:=(?!{mark})[^=]*+)*+={mark}")

    def mark_address(start: int, end: int) -> None:
        opaque = _OPAQUE.match(text, start, end)
        query = text.find("?", start, end)
        place = text.find(mark, start + 1, end)
        while place >= 0:
            is_recipient = opaque and (query < 0 or place < query)
            safe[numbers[place]] = _OF_RECIPIENT if is_recipient else ""
            place = text.find(mark, place + 1, end)

    for run in _RUN.finditer(text):
        if mark not in run[0]:
            continue
        begins = [
            run.start() + found.start()
            for found in re.finditer(mark, run[0])
            if are_addresses[numbers[run.start() + found.start()]]
        ]
        if scheme := _SCHEME.search(run[0]):
            begins.append(run.start() + scheme.start())
        if own := field_before_query.match(run[0]):
            begins.append(run.start() + own.start(1))
        if begins:
            mark_address(min(begins), run.end())
    if html:
        for start, end in _addresses(text):
            mark_address(start, end)
    return safe
