"""
A picture made fit for mail: upright, at most 1200 pixels wide and 2 MB large, and rid of what
cameras note down. Pure: bytes in, bytes out.

Only what Pillow finds the file to be counts, never its name. WebP becomes PNG or JPEG, because some
mail programs show none.
"""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageCms, UnidentifiedImageError

from publishing.gif_remarks import without_remarks
from publishing.models.picture import LARGEST_PICTURE

WIDEST = 1200
MOST_BYTES = 10 * 1024 * 1024
MOST_PIXELS = 50_000_000
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
_QUALITIES = (85, 75, 65)
_SMALLER = 0.8


class UnusablePictureError(Exception):
    """The file cannot be put into a letter; the sentence says why and what to do."""


@dataclass(frozen=True, slots=True)
class SmallPicture:
    """The bytes of a picture, and what they are."""

    content: bytes
    content_type: str
    width: int
    height: int


def small_picture(file: bytes) -> SmallPicture:
    """The picture in a file, made fit for mail. Raises `UnusablePictureError`."""
    if len(file) > MOST_BYTES:
        raise UnusablePictureError(too_large())
    try:
        with warnings.catch_warnings():
            # Its own bound is looked at below, before anything is unpacked; and what a camera noted
            # down wrongly concerns nobody.
            warnings.simplefilter("ignore")
            picture = Image.open(io.BytesIO(file), formats=_KINDS)
            _refuse_bombs(picture)
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
        raise UnusablePictureError(_too_many_pixels()) from None
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


def _too_many_pixels() -> str:
    return (
        f"This picture has more than {MOST_PIXELS // 1_000_000} megapixels; "
        "save it smaller and choose it again."
    )


def _refuse_bombs(picture: Image.Image) -> None:
    if picture.width * picture.height > MOST_PIXELS:
        raise UnusablePictureError(_too_many_pixels())


def _animation(picture: Image.Image, file: bytes) -> SmallPicture:
    if picture.format != "GIF":
        raise UnusablePictureError(
            "This picture moves, and mail shows moving pictures only as GIF; save it as one."
        )
    content = without_remarks(file)
    if picture.width > WIDEST or len(content) > LARGEST_PICTURE:
        raise UnusablePictureError(
            f"A moving picture is kept as it is, so it may be at most {WIDEST} pixels wide and "
            f"{LARGEST_PICTURE // 1024 // 1024} MB large. This one has {picture.width:,} pixels "
            f"and {len(content) / 1024 / 1024:.1f} MB; save it smaller."
        )
    return SmallPicture(content, "image/gif", picture.width, picture.height)


def _upright(picture: Image.Image) -> Image.Image:
    """As it is meant to be looked at: turned, in the colours of screens, not too wide."""
    turn = _turn_noted_in(picture)
    upright = picture.transpose(turn) if turn is not None else picture
    if upright.mode.startswith("I;16") or upright.mode == "I":
        upright = upright.point(lambda value: value / 256).convert("L")
    has_holes = upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info
    profile = upright.info.get("icc_profile")
    if profile and upright.mode in ("RGB", "CMYK", "L"):
        upright = _in_screen_colours(upright, profile)
    mode = "RGBA" if has_holes else "RGB"
    # Of 50 megapixels no copy is made that is not needed.
    if upright.mode != mode:
        upright = upright.convert(mode)
    if upright.width > WIDEST:
        height = max(1, round(upright.height * WIDEST / upright.width))
        upright = upright.resize((WIDEST, height), Image.Resampling.LANCZOS)
    return upright


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


def _encoded(picture: Image.Image, *, opaque_as: str) -> SmallPicture:
    """As small as it has to be: first at less quality, then with fewer pixels."""
    photograph = picture.mode == "RGB" and opaque_as in ("JPEG", "WEBP")
    while True:
        tries = _as_jpeg(picture) if photograph else _as_png(picture)
        for content, content_type in tries:
            if len(content) <= LARGEST_PICTURE:
                return SmallPicture(content, content_type, picture.width, picture.height)
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
    # A new picture from the pixels alone: nothing that the file noted down comes along.
    bare = picture.copy()
    bare.info = {key: value for key, value in bare.info.items() if key == "transparency"}
    file = io.BytesIO()
    bare.save(file, kind, **how)
    return file.getvalue(), f"image/{kind.lower()}"
