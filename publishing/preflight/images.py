"""The pictures of a letter: what stands in their place, and whether anybody can load them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urljoin

from delivery.humanise import so_many
from publishing.preflight.facts import Facts
from publishing.preflight.finding import Finding, Where, advice, in_order
from publishing.preflight.link_address import is_encrypted, is_from_outside, is_whole
from publishing.preflight.parse_letter import Picture


def of_the_pictures(facts: Facts) -> Iterator[Finding]:
    """Everything about pictures; nothing where there are none."""
    pictures = facts.letter.pictures
    if not pictures:
        return
    silent = [picture for picture in pictures if _is_silent(picture, facts)]
    if silent:
        yield advice(
            f"{so_many(len(silent), 'picture')} {_have(silent)} no alt text",
            "Readers without pictures, and those who listen, get nothing in its place.",
            Where.PICTURES,
            examples=_addresses(silent, facts.site_url),
        )
    else:
        yield in_order(
            "The picture has its alt text."
            if len(pictures) == 1
            else f"All {len(pictures)} pictures have their alt text."
        )
    yield from _that_nobody_can_load(pictures, facts)


def _is_silent(picture: Picture, facts: Facts) -> bool:
    # In HTML an empty alt says that a picture is but an ornament. Markdown cannot say that.
    return picture.alt is None or (facts.is_markdown and not picture.alt)


def _that_nobody_can_load(pictures: tuple[Picture, ...], facts: Facts) -> Iterator[Finding]:
    site = facts.site_url
    if not is_from_outside(site):
        # That the site cannot be reached is said of the site: the letter is as it should be.
        pictures = tuple(picture for picture in pictures if not _is_ours(picture, site))
    out_of_reach: list[Picture] = []
    open_ones: list[Picture] = []
    for picture in pictures:
        address = _where_it_is(picture, site)
        if not _can_be_loaded(address):
            out_of_reach.append(picture)
        elif not is_encrypted(address):
            open_ones.append(picture)
    if out_of_reach:
        yield advice(
            f"{so_many(len(out_of_reach), 'picture')} cannot be loaded by readers",
            "A mail has no site of its own: a picture needs a whole address that is reachable from "
            "everywhere.",
            Where.PICTURES,
            examples=_addresses(out_of_reach, site),
        )
    if open_ones:
        yield advice(
            f"{so_many(len(open_ones), 'picture')} {_comes(open_ones)} over http",
            "Some mail programs leave out what does not come over https.",
            Where.PICTURES,
            examples=_addresses(open_ones, site),
        )


def _can_be_loaded(address: str) -> bool:
    return is_whole(address) and is_from_outside(address)


def _is_ours(picture: Picture, site_url: str) -> bool:
    return _where_it_is(picture, site_url).startswith(f"{site_url.rstrip('/')}/")


def _have(pictures: list[Picture]) -> str:
    return "has" if len(pictures) == 1 else "have"


def _comes(pictures: list[Picture]) -> str:
    return "comes" if len(pictures) == 1 else "come"


def _addresses(pictures: list[Picture], site_url: str) -> tuple[str, ...]:
    addresses = (_where_it_is(picture, site_url) or "(no address)" for picture in pictures)
    return tuple(dict.fromkeys(addresses))


def _where_it_is(picture: Picture, site_url: str) -> str:
    # As the mail is composed: what begins with a slash is on our own site.
    rooted = picture.address.startswith("/") and not picture.address.startswith("//")
    return urljoin(site_url, picture.address) if rooted else picture.address
