"""The links of a letter: how they are written, and what they answered when opened. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote, urljoin

from delivery.humanise import so_many
from publishing.preflight.facts import Facts
from publishing.preflight.finding import Finding, Where, advice, in_order, not_known
from publishing.preflight.link_address import (
    is_encrypted,
    is_from_outside,
    is_whole,
    parts_of,
)
from publishing.preflight.parse_letter import Letter, Link

_DIALLED = ("tel:", "sms:")
_LONGEST_OPENED = 2000
# A look opens 40 of them, so the last are known after the fifth.
MOST_OPENED = 200


def to_be_opened(letter: Letter, site_url: str) -> list[str]:
    """The first `MOST_OPENED` addresses that it makes sense to open, whole, each once, in order."""
    return list(islice(_worth_opening(letter, site_url), MOST_OPENED))


def _worth_opening(letter: Letter, site_url: str) -> Iterator[str]:
    """Those of the web that lead outside and are the same for every reader."""
    for address in dict.fromkeys(_whole(link.address, site_url) for link in letter.links):
        if (
            "{{" not in unquote(address)
            and len(address.encode()) <= _LONGEST_OPENED
            and address.isprintable()
            and _is_of_the_web(address)
            and is_from_outside(address)
        ):
            yield address


def of_the_links(facts: Facts) -> Iterator[Finding]:
    """Everything about links; nothing where there are none."""
    links = [link for link in facts.letter.links if not _is_a_field(link)]
    if links:
        yield from _as_they_are_written(links, facts)
    yield from _as_they_answer(facts)


def _as_they_are_written(links: list[Link], facts: Facts) -> Iterator[Finding]:
    relative: list[str] = []
    odd: list[str] = []
    nowhere: list[str] = []
    inside: list[str] = []
    unencrypted: list[str] = []
    for link in links:
        address = _whole(link.address, facts.site_url)
        lower = address.lower()
        if not address or address == "#":
            nowhere.append(link.words or "(no words)")
        elif lower.startswith("mailto:"):
            if not _is_an_address(address):
                odd.append(link.address)
        elif lower.startswith((*_DIALLED, "#")):
            continue
        elif not _is_of_the_web(address):
            (odd if _has_a_scheme(address) else relative).append(link.address)
        elif not is_from_outside(address):
            inside.append(address)
        elif not is_encrypted(address):
            unencrypted.append(address)
    for found, one, detail in (
        (
            nowhere,
            "leads nowhere",
            "Nothing happens when it is pressed.",
        ),
        (
            relative,
            "is relative",
            "A mail has no site of its own: a link needs its whole address, with https://.",
        ),
        (
            odd,
            "cannot be opened from a mail",
            "Mail programs know https, mailto and tel.",
        ),
        (
            inside,
            "leads to a place that readers cannot reach",
            "It is an address of this machine or of a network at home.",
        ),
        (
            unencrypted,
            "is http",
            "Browsers warn before such a page; most sites answer under https too.",
        ),
    ):
        if found:
            yield advice(
                f"{so_many(len(found), 'link')} {_plural(one) if len(found) > 1 else one}",
                detail,
                Where.LETTER,
                examples=tuple(dict.fromkeys(found)),
            )
    if not relative:
        yield in_order("No relative links.")


def _as_they_answer(facts: Facts) -> Iterator[Finding]:
    worth_opening = list(_worth_opening(facts.letter, facts.site_url))
    wanted = worth_opening[:MOST_OPENED]
    if not wanted:
        return
    looked = {address: facts.links[address] for address in wanted if address in facts.links}
    by_words: dict[str, list[str]] = {}
    for address, answer in looked.items():
        if answer.is_dead:
            by_words.setdefault(answer.words, []).append(address)
    for words, addresses in by_words.items():
        answered = words.startswith("answers ")
        many = len(addresses) > 1
        said = (words.replace("answers", "answer") if many else words) if answered else "is dead"
        if not answered and many:
            said = "are dead"
        yield advice(
            f"{so_many(len(addresses), 'link')} {said}",
            "" if answered else f"What was found: {words}.",
            Where.LETTER,
            examples=tuple(addresses),
        )
    unsure = [a for a, answer in looked.items() if not answer.is_dead and not answer.is_well]
    if unsure:
        reasons = sorted({looked[address].words for address in unsure})
        yield not_known(
            f"{so_many(len(unsure), 'link')} could not be judged",
            f"What was found: {', '.join(reasons)}. A person may well be shown the page; open it "
            "once yourself.",
            Where.LETTER,
            examples=tuple(unsure),
        )
    left = [address for address in wanted if address not in looked]
    if facts.links_looked_at is None:
        yield not_known("The links have not been opened yet")
    elif left:
        yield not_known(
            f"{so_many(len(left), 'link')} could not be opened in time",
            where=Where.LETTER,
            examples=tuple(left),
        )
    beyond = len(worth_opening) - len(wanted)
    if beyond:
        yield not_known(
            f"{so_many(beyond, 'link')} {'is' if beyond == 1 else 'are'} not opened",
            f"Only the first {MOST_OPENED} links of a letter are. Open the others yourself.",
            Where.LETTER,
        )
    well = sum(answer.is_well for answer in looked.values())
    if well and well == len(wanted):
        which = f"The first {well}" if beyond else f"All {well}"
        yield in_order("The link answers." if well == 1 else f"{which} links answer.")


def _whole(address: str, site_url: str) -> str:
    # As the mail is composed: what begins with a slash is on our own site.
    rooted = address.startswith("/") and not address.startswith("//")
    return urljoin(f"{site_url}/", address) if rooted else address


def _is_of_the_web(address: str) -> bool:
    return is_whole(address)


def _has_a_scheme(address: str) -> bool:
    parts = parts_of(address)
    return parts is None or bool(parts.scheme)


def _is_a_field(link: Link) -> bool:
    return link.address.startswith("{{") and link.address.endswith("}}")


def _is_an_address(mailto: str) -> bool:
    to = unquote(mailto[len("mailto:") :].partition("?")[0])
    if not to:
        return True  # a letter that its reader addresses, such as for sharing
    return all(
        part.strip().count("@") == 1
        and "." in part.rpartition("@")[2]
        and not part.strip().startswith("@")
        and " " not in part.strip()
        for part in to.split(",")
    )


def _plural(one: str) -> str:
    first, _, rest = one.partition(" ")
    verb = {"leads": "lead", "is": "are"}.get(first, first)
    return f"{verb} {rest}".replace("a place", "places")
