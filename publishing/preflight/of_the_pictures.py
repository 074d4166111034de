"""The pictures of a letter: what stands in their place, and whether anybody can load them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urljoin

from publishing.preflight.address_in_a_letter import is_encrypted, is_from_outside, is_whole
from publishing.preflight.facts import Facts
from publishing.preflight.finding import Finding, Where, advice, in_order
from publishing.preflight.reading_a_letter import Image, read_letter
from publishing.words_for_numbers import so_many


def of_the_pictures(facts: Facts) -> Iterator[Finding]:
    """Everything about pictures; nothing where there are none."""
    images = read_letter(facts.content.html).images
    if not images:
        return
    silent = [image for image in images if _is_silent(image, facts)]
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
            if len(images) == 1
            else f"All {len(images)} pictures have their alt text."
        )
    yield from _that_nobody_can_load(images, facts)


def _is_silent(image: Image, facts: Facts) -> bool:
    # In HTML an empty alt says that a picture is but an ornament. Markdown cannot say that.
    return image.alt is None or (facts.is_markdown and not image.alt)


def _that_nobody_can_load(images: tuple[Image, ...], facts: Facts) -> Iterator[Finding]:
    site = facts.site_url
    if not is_from_outside(site):
        # That the site cannot be reached is said of the site: the letter is as it should be.
        images = tuple(image for image in images if not _is_ours(image, site))
    out_of_reach = [image for image in images if not _can_be_loaded(_where_it_is(image, site))]
    if out_of_reach:
        yield advice(
            f"{so_many(len(out_of_reach), 'picture')} cannot be loaded by readers",
            "A mail has no site of its own: a picture needs a whole address that is reachable from "
            "everywhere.",
            Where.PICTURES,
            examples=_addresses(out_of_reach, site),
        )
    open_ones = [
        image
        for image in images
        if image not in out_of_reach and not is_encrypted(_where_it_is(image, site))
    ]
    if open_ones:
        yield advice(
            f"{so_many(len(open_ones), 'picture')} {_comes(open_ones)} over http",
            "Some mail programs leave out what does not come over https.",
            Where.PICTURES,
            examples=_addresses(open_ones, site),
        )


def _can_be_loaded(address: str) -> bool:
    return is_whole(address) and is_from_outside(address)


def _is_ours(image: Image, site_url: str) -> bool:
    return _where_it_is(image, site_url).startswith(f"{site_url.rstrip('/')}/")


def _have(images: list[Image]) -> str:
    return "has" if len(images) == 1 else "have"


def _comes(images: list[Image]) -> str:
    return "comes" if len(images) == 1 else "come"


def _addresses(images: list[Image], site_url: str) -> tuple[str, ...]:
    addresses = (_where_it_is(image, site_url) or "(no address)" for image in images)
    return tuple(dict.fromkeys(addresses))


def _where_it_is(image: Image, site_url: str) -> str:
    # As the mail is composed: what begins with a slash is on our own site.
    rooted = image.address.startswith("/") and not image.address.startswith("//")
    return urljoin(site_url, image.address) if rooted else image.address
