"""Fit a letter's pictures into its column, and take out the first picture."""

import re
from dataclasses import dataclass

from delivery.mail.normalise_html import parse_attributes

FULL_WIDTH = 600
# The width of the column without its padding, in pixels.
COLUMN_WIDTH = 536
_REST = r"""(?>(?:[^<>"']|"[^"]*+"|'[^']*+')*)"""
_TITLE = re.compile(rf"\s*+<h1\b{_REST}>[^<]*(?:<(?!/?h1\b)[^<]*)*</h1\s*+>", re.IGNORECASE)
_IMAGE = re.compile(rf"<img\b{_REST}>", re.IGNORECASE)
_SIDE = re.compile(
    r"""(\s(?:width|height)\s*+=\s*+)["']?(\d{1,5}+)["']?(?=[\s/>])""", re.IGNORECASE
)
# An image whose paragraph or figure has no words, or an image without a paragraph or figure.
_PICTURE = re.compile(
    rf"\s*+(?:<(p|figure)\b{_REST}>\s*+)?(?:<a\b({_REST})>\s*+)?<img\b({_REST})>"
    r"\s*+((?(2)</a\s*+>))\s*+(?(1)</\1\s*+>)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image at full width, with the link around it if there is one."""

    source: str
    alt: str
    height: int
    link: str


def take_first_picture(letter: str) -> tuple[Picture | None, str]:
    """Split off the picture with which a normalised letter begins.

    A title may come before the picture. A picture with a caption stays with its caption.
    """
    title = _TITLE.match(letter)
    start = title.end() if title else 0
    found = _PICTURE.match(letter, start)
    if found is None:
        return None, letter
    image, link = parse_attributes(found[3]), parse_attributes(found[2] or "")
    width, height = _pixels(image.get("width", "")), _pixels(image.get("height", ""))
    picture = Picture(
        source=image.get("src", ""),
        alt=image.get("alt", ""),
        height=round(FULL_WIDTH * height / width) if width and height else 0,
        link=link.get("href", ""),
    )
    return picture, letter[:start] + letter[found.end() :]


def fit_images(letter: str) -> str:
    """Reduce the sizes of wide images, because Outlook ignores `max-width`."""
    return _IMAGE.sub(lambda image: _fit(image[0]), letter)


def _fit(image: str) -> str:
    width = _pixels(parse_attributes(image[4:-1]).get("width", ""))
    if width <= COLUMN_WIDTH:
        return image
    return _SIDE.sub(
        lambda side: f'{side[1]}"{max(1, round(int(side[2]) * COLUMN_WIDTH / width))}"', image
    )


def _pixels(value: str) -> int:
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 6 else 0
