"""
A picture made fit for mail: upright, at most 1200 pixels wide and 2 MB large, and rid of what
cameras note down. Pure: bytes in, bytes out.

Only what Pillow finds the file to be counts, never its name. WebP becomes PNG or JPEG, because some
mail programs show none.
"""

from __future__ import annotations

import io
import math
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageCms, UnidentifiedImageError
from PIL.JpegImagePlugin import JpegImageFile

from publishing.images.strip_gif_metadata import strip_gif_metadata
from publishing.models.image import LARGEST_PICTURE

WIDEST = 1200
MOST_BYTES = 10 * 1024 * 1024
# The limit for a JPEG that can be read line by line at half, a quarter or an eighth of its size.
MOST_PIXELS = 50_000_000
# The limit for pictures that are decoded whole: four bytes a pixel, twice.
MOST_UNPACKED = 15_000_000
# Its decoder keeps two canvases of its own.
MOST_OF_WEBP = 8_000_000
# Once it is not too wide. Four screens of a telephone.
TALLEST = 8_000
# Frames of a moving GIF: half a minute at the usual pace. Every mail program decodes each frame.
MOST_FRAMES = 500
_KINDS = ("PNG", "JPEG", "GIF", "WEBP")
# A JPEG with a small or a brighter one of the same moment behind it, as telephones write them. It
# does not move: the first is the photograph.
_PHOTOGRAPH_AND_MORE = "MPO"
_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_QUARTER_TURNS = frozenset({_TURNS[held] for held in (5, 6, 7, 8)})
# Markers of a JPEG (ITU T.81, table B.1).
_BASELINE, _PROGRESSIVE, _SCAN = (0xC0, 0xC1), 0xC2, 0xDA
_FILL, _ALONE = 0xFF, frozenset({0x01, *range(0xD0, 0xD8)})
_WITH_LENGTH = frozenset({*range(0xC0, 0xD0), *range(0xDB, 0xF0), 0xFE})
# Lines that are made narrower at once, to keep copies of a picture small.
_BAND = 256
_QUALITIES = (85, 75, 65)
_SMALLER = 0.8


class UnusablePictureError(Exception):
    """The file cannot be put into a letter; the sentence says why and what to do."""


@dataclass(frozen=True, slots=True)
class ResizedImage:
    """The bytes of a picture, and what they are."""

    content: bytes
    content_type: str
    width: int
    height: int


def resize_image(file: bytes) -> ResizedImage:
    """The picture in a file, made fit for mail. Raises `UnusablePictureError`."""
    if len(file) > MOST_BYTES:
        raise UnusablePictureError(too_large())
    try:
        with warnings.catch_warnings():
            # Its own bound is looked at below, before anything is unpacked; and what a camera noted
            # down wrongly concerns nobody.
            warnings.simplefilter("ignore")
            picture = Image.open(io.BytesIO(file), formats=_KINDS)
            _refuse_bombs(picture, file)
            if picture.format == _PHOTOGRAPH_AND_MORE:
                picture.load()
                return _encoded(_upright(picture), opaque_as="JPEG")
            if getattr(picture, "is_animated", False):
                return _animation(picture, file)
            picture.load()
            return _encoded(_upright(picture), opaque_as=picture.format or "PNG")
    except UnidentifiedImageError:
        raise UnusablePictureError(
            "This is no picture that mail can show; a PNG, JPEG, GIF or WebP file is expected."
        ) from None
    except Image.DecompressionBombError:
        raise UnusablePictureError(
            "This picture has far too many pixels; save it smaller and choose it again."
        ) from None
    except (OSError, SyntaxError, ValueError, LookupError, TypeError, struct.error):
        raise UnusablePictureError(
            "This picture is damaged or cut off; save it anew and choose it again."
        ) from None


def too_large() -> str:
    """The sentence for a file that is larger than is taken."""
    return (
        f"This file has more than {MOST_BYTES // 1024 // 1024} MB; "
        "save the picture smaller and choose it again."
    )


def _too_many_pixels(pixels: int, most: int) -> str:
    return (
        f"This picture has {math.ceil(pixels / 100_000) / 10} megapixels; "
        f"at most {most // 1_000_000} are possible. Save it smaller and choose it again."
    )


def _refuse_bombs(picture: Image.Image, file: bytes) -> None:
    """Refuse by its header what would take too much memory, and have a JPEG read smaller."""
    width, height = picture.size
    by_lines = (
        isinstance(picture, JpegImageFile)
        and "progressive" not in picture.info
        and _is_one_scan(file)
    )
    most = MOST_PIXELS if by_lines else MOST_UNPACKED
    if picture.format == "WEBP":
        most = MOST_OF_WEBP
    if width * height > most:
        raise UnusablePictureError(_too_many_pixels(width * height, most))
    if _turn_noted_in(picture) in _QUARTER_TURNS:
        width, height = height, width
    shown = round(height * min(1, WIDEST / width))
    if shown > TALLEST:
        raise UnusablePictureError(
            f"This picture is {shown:,} pixels tall at a width of {min(width, WIDEST):,}; "
            f"at most {TALLEST:,} are possible. Cut it into several and choose them one by one."
        )
    if isinstance(picture, JpegImageFile):
        # The shorter side as well: a turned one is as wide as it is high in the file.
        picture.draft(picture.mode, (WIDEST, WIDEST))
    if picture.width * picture.height > MOST_UNPACKED:
        raise UnusablePictureError(_too_many_pixels(width * height, MOST_UNPACKED))


def _is_one_scan(jpeg: bytes) -> bool:
    """Whether all of each line stands together; otherwise all is unpacked before the first line."""
    at, components = 2, 0
    while jpeg[at] == 0xFF:
        marker = jpeg[at + 1]
        if marker == _FILL:
            at += 1
        elif marker in _ALONE:
            at += 2
        elif marker == _SCAN:
            return components > 0 and jpeg[at + 4] == components
        elif marker == _PROGRESSIVE or marker not in _WITH_LENGTH:
            return False
        else:
            if marker in _BASELINE:
                components = jpeg[at + 9]
            at += 2 + int.from_bytes(jpeg[at + 2 : at + 4])
    return False


def _animation(picture: Image.Image, file: bytes) -> ResizedImage:
    if picture.format != "GIF":
        raise UnusablePictureError(
            "This picture moves, and mail shows moving pictures only as GIF; save it as one."
        )
    content, frames = strip_gif_metadata(file)
    if frames > MOST_FRAMES:
        raise UnusablePictureError(
            f"This moving picture has {frames:,} frames; at most {MOST_FRAMES:,} are possible. "
            "Save it with fewer and choose it again."
        )
    if picture.width > WIDEST or len(content) > LARGEST_PICTURE:
        raise UnusablePictureError(
            f"A moving picture is kept as it is, so it may be at most {WIDEST} pixels wide and "
            f"{LARGEST_PICTURE // 1024 // 1024} MB large. This one has {picture.width:,} pixels "
            f"and {len(content) / 1024 / 1024:.1f} MB; save it smaller."
        )
    return ResizedImage(content, "image/gif", picture.width, picture.height)


def _upright(picture: Image.Image) -> Image.Image:
    """As it is meant to be looked at: turned, in the colours of screens, not too wide."""
    turn = _turn_noted_in(picture)
    if picture.mode.startswith("I;16") or picture.mode == "I":
        picture = picture.point(lambda value: value / 256).convert("L")
    has_holes = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    profile = picture.info.get("icc_profile")
    mode = "RGBA" if has_holes else "RGB"
    # Before all else that makes a copy of it.
    picture = _not_too_wide(picture, mode, turned=turn in _QUARTER_TURNS)
    if turn is not None:
        picture = picture.transpose(turn)
    if profile and picture.mode in ("RGB", "CMYK", "L"):
        picture = _in_screen_colours(picture, profile)
    return picture if picture.mode == mode else picture.convert(mode)


def _not_too_wide(picture: Image.Image, mode: str, *, turned: bool) -> Image.Image:
    """
    At most `WIDEST` pixels wide, in a mode that can be resized: `mode` or an opaque one.

    A picture that was too wide is closed: its memory is needed for the narrow one.
    """
    width = picture.height if turned else picture.width
    if width <= WIDEST:
        return _resizable(picture, mode)
    wide, high = (max(1, round(side * WIDEST / width)) for side in picture.size)
    narrow: Image.Image | None = None
    for top in range(0, picture.height, _BAND):
        bottom = min(top + _BAND, picture.height)
        band = _resizable(picture.crop((0, top, picture.width, bottom)), mode)
        if mode == band.mode == "RGBA":
            # Holes have no colour that could run into what is beside them.
            band = band.convert("RGBa")
        band = band.resize((wide, band.height), Image.Resampling.LANCZOS)
        if narrow is None:
            narrow = Image.new(band.mode, (wide, picture.height))
            narrow.info = band.info
        narrow.paste(band, (0, top))
    assert narrow is not None  # noqa: S101
    # Callers still hold it.
    picture.close()
    narrow = narrow.resize((wide, high), Image.Resampling.LANCZOS)
    return narrow.convert("RGBA") if narrow.mode == "RGBa" else narrow


def _resizable(picture: Image.Image, mode: str) -> Image.Image:
    return picture if picture.mode in ("RGB", "CMYK", "L", mode) else picture.convert(mode)


def _turn_noted_in(picture: Image.Image) -> Image.Transpose | None:
    """How the camera was held. What else it noted is often broken, and no reason to refuse."""
    try:
        return _TURNS.get(picture.getexif().get(_ORIENTATION, 1))
    except (OSError, SyntaxError, ValueError, LookupError, TypeError, struct.error):
        return None


def _in_screen_colours(picture: Image.Image, profile: bytes) -> Image.Image:
    """The profile is metadata and goes; the colours that it stands for stay."""
    try:
        screen = ImageCms.createProfile("sRGB")
        turned = ImageCms.profileToProfile(picture, io.BytesIO(profile), screen, outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError):
        return picture
    return turned if turned is not None else picture


def _encoded(picture: Image.Image, *, opaque_as: str) -> ResizedImage:
    """As small as it has to be: first at less quality, then with fewer pixels."""
    photograph = picture.mode == "RGB" and opaque_as in ("JPEG", "WEBP")
    while True:
        tries = _as_jpeg(picture) if photograph else _as_png(picture)
        for content, content_type in tries:
            if len(content) <= LARGEST_PICTURE:
                return ResizedImage(content, content_type, picture.width, picture.height)
        size = (max(1, int(picture.width * _SMALLER)), max(1, int(picture.height * _SMALLER)))
        picture = picture.resize(size, Image.Resampling.LANCZOS)


def _as_jpeg(picture: Image.Image) -> Iterator[tuple[bytes, str]]:
    for quality in _QUALITIES:
        yield _saved(picture, "JPEG", quality=quality, optimize=True, progressive=True)


def _as_png(picture: Image.Image) -> Iterator[tuple[bytes, str]]:
    yield _saved(picture, "PNG", optimize=True)
    if picture.mode == "RGB":
        # What is too rich for a PNG is most likely a photograph.
        yield from _as_jpeg(picture)
    else:
        yield _saved(picture.quantize(256, method=Image.Quantize.FASTOCTREE), "PNG", optimize=True)


def _saved(picture: Image.Image, kind: str, **how: Any) -> tuple[bytes, str]:
    # Nothing that the file noted down comes along.
    picture.info = {key: value for key, value in picture.info.items() if key == "transparency"}
    file = io.BytesIO()
    picture.save(file, kind, **how)
    return file.getvalue(), f"image/{kind.lower()}"
