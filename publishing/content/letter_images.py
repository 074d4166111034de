"""Find and rewrite the images in the sanitised HTML of a letter, in linear time."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape

from publishing.content.finish_sanitised_tags import ATTRIBUTE, TAG

# A narrower or lower image is a decoration or a tracking pixel.
SMALLEST_IMAGE_PX = 100


@dataclass(frozen=True, slots=True)
class FoundImage:
    """An image of a letter: a path on this site or an https address, and its alt text."""

    address: str
    alt: str


def images_of(body: str) -> Iterator[dict[str, str]]:
    """Yield the attributes of each image; values stay escaped."""
    for found in TAG.finditer(body):
        if found[2] == "img":
            yield dict(ATTRIBUTE.findall(found[3]))


def first_image(body: str) -> FoundImage | None:
    """Return the first image that is not a decoration."""
    for attributes in images_of(body):
        sizes = (pixels(attributes, name) for name in ("width", "height"))
        if any(size is not None and size < SMALLEST_IMAGE_PX for size in sizes):
            continue
        address = unescape(attributes.get("src", "")).strip()
        if address.startswith("https://") or re.match("/(?!/)", address):
            return FoundImage(address, unescape(attributes.get("alt", "")).strip())
    return None


def rewrite_images(body: str, change: Callable[[dict[str, str]], Mapping[str, str]]) -> str:
    """Give each image the attributes that `change` returns; values stay escaped."""

    def rewrite(found: re.Match[str]) -> str:
        if found[2] != "img":
            return found[0]
        attributes = change(dict(ATTRIBUTE.findall(found[3])))
        return "<img" + "".join(f' {name}="{value}"' for name, value in attributes.items()) + ">"

    return TAG.sub(rewrite, body)


def pixels(attributes: Mapping[str, str], name: str) -> int | None:
    """Return an attribute's number of pixels; None if missing or a percentage."""
    value = attributes.get(name, "")
    return int(value[:9]) if value.isascii() and value.isdecimal() else None
