"""The newsletter's look: colours with enough contrast, and typefaces.

Authors may pick any accent. The lightness of the accent is changed until text in this colour can be
read. Contrast and relative luminance: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio.
"""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from django.conf import settings

from delivery.models.newsletter import Newsletter, Typeface

ENOUGH = 4.5
# The colours of the page and of the areas on it, as in static/tokens.css.
LIGHT_PAPER = ("#fdfdfb", "#f1f4f3")
DARK_PAPER = ("#14191c", "#1c2327")
ON_LIGHT_ACCENT = "#ffffff"
ON_DARK_ACCENT = "#0b1a1f"

LOGO_WIDTH, LOGO_HEIGHT = 200, 80

SERIF = "'Iowan Old Style','Palatino Linotype',Palatino,Georgia,serif"
SANS = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
# The typefaces of headings and of text.
_PAIRINGS: Mapping[str, tuple[str, str]] = {
    Typeface.BOOK: (SERIF, SERIF),
    Typeface.MODERN: (SANS, SANS),
    Typeface.MAGAZINE: (SANS, SERIF),
    Typeface.JOURNAL: (SERIF, SANS),
}
# Outlook on Windows shows Times New Roman if the first font of a list is not installed.
_IN_OUTLOOK = {SERIF: "'Georgia',serif", SANS: "'Segoe UI',Arial,sans-serif"}


@dataclass(frozen=True, slots=True)
class Accent:
    """The accent on light and on dark paper, each with a second shade for hovering."""

    light: str
    light_deep: str
    dark: str
    dark_deep: str


@dataclass(frozen=True, slots=True)
class Look:
    """The values that the templates of letters and the style sheet of pages use."""

    accent: Accent
    layout: str
    heading: str
    text: str
    shows_name: bool
    shows_logo: bool
    logo_width: int
    logo_height: int
    has_dark_logo: bool
    dark_logo_width: int
    dark_logo_height: int
    direction: str

    @property
    def start(self) -> str:
        """The side where lines begin, because mail programs do not know CSS's `start`."""
        return "right" if self.direction == "rtl" else "left"

    @property
    def end(self) -> str:
        """The side where lines end."""
        return "left" if self.direction == "rtl" else "right"

    @property
    def slant(self) -> str:
        """The font style of headings and quotes; Arabic and Hebrew have no italics."""
        return "normal" if self.direction == "rtl" else "italic"

    @property
    def has_sans_headings(self) -> bool:
        """Whether headings are sans serif; such headings are bold and never italic."""
        return self.heading == SANS

    @property
    def has_sans_text(self) -> bool:
        """Whether the text is sans serif, which looks larger at the same size."""
        return self.text == SANS

    @property
    def outlook_heading(self) -> str:
        """The typeface of headings in Outlook on Windows."""
        return _IN_OUTLOOK[self.heading]

    @property
    def outlook_text(self) -> str:
        """The typeface of text in Outlook on Windows."""
        return _IN_OUTLOOK[self.text]


def look_of(newsletter: Newsletter) -> Look:
    """Return the look of letters and pages for the newsletter's settings.

    The nameplates of letters and of pages both follow this look. Without a logo the name is shown,
    whatever the author chose.
    """
    heading, text = _PAIRINGS[newsletter.typeface]
    has_logo = bool(newsletter.logo and newsletter.logo_width and newsletter.logo_height)
    shows_logo = has_logo and newsletter.header != "name"
    width, height = _fit(newsletter.logo_width, newsletter.logo_height)
    dark_width, dark_height = _fit(newsletter.dark_logo_width, newsletter.dark_logo_height)
    return Look(
        accent=accent_for(newsletter.accent),
        layout=newsletter.layout,
        heading=heading,
        text=text,
        shows_name=not shows_logo or newsletter.header == "both",
        shows_logo=shows_logo,
        logo_width=width,
        logo_height=height,
        has_dark_logo=shows_logo and bool(newsletter.dark_logo and dark_width),
        dark_logo_width=dark_width,
        dark_logo_height=dark_height,
        direction=direction_of(newsletter.language),
    )


def direction_of(language: str) -> str:
    """Return `rtl` for a language that is written from right to left, else `ltr`."""
    is_rtl = language.lower().split("-")[0] in settings.LANGUAGES_BIDI
    return "rtl" if is_rtl else "ltr"


@lru_cache(maxsize=64)
def accent_for(colour: str) -> Accent:
    """Return the nearest readable accents of this hue for light and for dark paper."""
    light, dark = _readable(colour, LIGHT_PAPER, -1), _readable(colour, DARK_PAPER, 1)
    return Accent(light, _shift(light, 0.75), dark, _shift(dark, 1.15))


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _fit(width: int, height: int) -> tuple[int, int]:
    """Return the size of a logo in letters; a logo is never enlarged."""
    if not (width and height):
        return 0, 0
    scale = min(1, LOGO_WIDTH / width, LOGO_HEIGHT / height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _readable(colour: str, papers: tuple[str, ...], step: int) -> str:
    """Change the lightness in steps until the contrast on each background is enough."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*_channels(colour))
    found = colour
    while any(contrast(found, paper) < ENOUGH for paper in papers):
        lightness = min(1.0, max(0.0, lightness + step / 255))
        found = _to_hex(colorsys.hls_to_rgb(hue, lightness, saturation))
    return found


def _shift(colour: str, factor: float) -> str:
    hue, lightness, saturation = colorsys.rgb_to_hls(*_channels(colour))
    return _to_hex(colorsys.hls_to_rgb(hue, min(1.0, lightness * factor), saturation))


def _luminance(colour: str) -> float:
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in _channels(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _channels(colour: str) -> tuple[float, float, float]:
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red / 255, green / 255, blue / 255


def _to_hex(channels: tuple[float, float, float]) -> str:
    return f"#{bytes(round(255 * channel) for channel in channels).hex()}"
