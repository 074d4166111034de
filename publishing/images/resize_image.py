"""Resize an image for mail: upright, at most 1200 pixels and 2 MB, no metadata."""

import io
import math
import struct
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.utils.formats import number_format
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from PIL import Image, ImageCms, UnidentifiedImageError
from PIL.JpegImagePlugin import JpegImageFile

from delivery.humanise import digits
from publishing.images.strip_gif_metadata import strip_gif_metadata
from publishing.models import LARGEST_IMAGE

WIDEST = 1200
# The width of the small copy for lists and phones. A small copy that is higher than this is cut.
SMALL_WIDTH, SMALL_HEIGHT = 720, 1440
MOST_BYTES = 10 * 1024 * 1024
# The limit of pixels of a JPEG that can be decoded line by line, at 1/2, 1/4 or 1/8 of its size.
MOST_PIXELS = 50_000_000
# The limit of pixels of an image that is decoded as a whole. Decoding it takes 8 bytes a pixel.
MOST_DECODED_PIXELS = 15_000_000
# The limit of pixels of a WebP image. A WebP has a lower limit than other images, because its
# decoder keeps two copies of the image.
MOST_WEBP_PIXELS = 8_000_000
# The limit of the height in pixels after resizing: about four screens of a phone.
TALLEST = 8_000
# The limit of frames of an animation, because mail programs decode every frame. 500 frames are half
# a minute at the usual pace.
MOST_FRAMES = 500
TOO_LARGE = format_lazy(
    gettext_lazy("This file is larger than {most} MB. Save the image smaller and choose it again."),
    most=MOST_BYTES // 1024 // 1024,
)

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
# Phones append smaller or brighter JPEGs of the same moment to a photo. The first JPEG in the file
# is the photo.
_MULTI_PICTURE = "MPO"
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
_QUARTER_TURNS = frozenset({_TURNS[orientation] for orientation in (5, 6, 7, 8)})
# Markers of a JPEG (ITU T.81, table B.1).
_BASELINE, _PROGRESSIVE, _SCAN = (0xC0, 0xC1), 0xC2, 0xDA
_FILL, _ALONE = 0xFF, frozenset({0x01, *range(0xD0, 0xD8)})
_WITH_LENGTH = frozenset({*range(0xC0, 0xD0), *range(0xDB, 0xF0), 0xFE})
# The limit of parts of a file, not counting its pixels. Pillow keeps an object for each part, and a
# hostile file can have a million empty parts. In 10 MB of metadata, about 2,700 pairs of bytes look
# like the start of a part by chance. The limit must be higher than this number.
_MOST_PARTS = 10_000
_JPEG, _PNG = b"\xff\xd8", b"\x89PNG\r\n\x1a\n"
_PIXELS = b"IDAT"
# The number of lines that are resized in one step. Copies of so few lines need little memory.
_BAND = 256
_QUALITIES = (85, 75, 65)
_SMALLER = 0.8
_DAMAGED = (OSError, SyntaxError, ValueError, LookupError, TypeError, struct.error)


class UnusableImageError(Exception):
    """The file cannot be used in a letter.

    The message has the reason and the next step.
    """

    def __init__(self, sentence: str, *, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


class ResizedImage(NamedTuple):
    """The bytes of an image, their type, its size in pixels, and its small copy."""

    content: bytes
    content_type: str
    width: int
    height: int
    small_copy: bytes


def resize_image(file: bytes) -> ResizedImage:
    """Resize the image in a file for mail. Raises `UnusableImageError`."""
    if len(file) > MOST_BYTES:
        raise UnusableImageError(str(TOO_LARGE))
    try:
        with warnings.catch_warnings():
            # Ignore Pillow's warnings of large images and broken metadata, because our own limits
            # are checked before decoding.
            warnings.simplefilter("ignore")
            if _count_parts(file) > _MOST_PARTS:
                raise ValueError("The image has too many parts.")
            image = Image.open(io.BytesIO(file), formats=_FORMATS)
            _check_header(image, file)
            is_photograph = image.format == _MULTI_PICTURE
            if getattr(image, "is_animated", False) and not is_photograph:
                return _keep_animation(image, file)
            image.load()
            opaque_format = "JPEG" if is_photograph else image.format or "PNG"
            return _encode(_normalise(image), opaque_format)
    except UnidentifiedImageError:
        raise UnusableImageError(
            _("Mail cannot show this file as an image. Choose a PNG, JPEG, GIF or WebP file.")
        ) from None
    except Image.DecompressionBombError:
        raise UnusableImageError(
            _("This image has far too many pixels. Save it smaller and choose it again.")
        ) from None
    except _DAMAGED:
        raise UnusableImageError(
            _("This image is damaged or incomplete. Save it again and choose the new file.")
        ) from None


def _count_parts(file: bytes) -> int:
    """Count the parts of a JPEG or PNG, without the parts that have the pixels.

    In a JPEG, bytes within metadata can look like the start of a part. These bytes count too.

    Raises `struct.error` if a PNG is incomplete.
    """
    if file.startswith(_JPEG):
        # Pixels never contain these pairs of bytes: in pixels, only 0 or a restart marker follows
        # 0xFF.
        return sum(file.count(bytes([_FILL, marker])) for marker in (*range(0xE0, 0xF0), 0xFE))
    at, parts = len(_PNG), 0
    while file.startswith(_PNG) and at < len(file):
        length, name = struct.unpack_from(">L4s", file, at)
        parts += name != _PIXELS
        at += 12 + length
    return parts


def _check_header(image: Image.Image, file: bytes) -> None:
    """Read the header only, and refuse an image that would need too much memory.

    Make Pillow decode a large JPEG at a smaller size.
    """
    width, height = image.size
    is_jpeg = isinstance(image, JpegImageFile)
    by_lines = is_jpeg and "progressive" not in image.info and _is_one_scan(file)
    most = MOST_PIXELS if by_lines else MOST_DECODED_PIXELS
    if image.format == "WEBP":
        most = MOST_WEBP_PIXELS
    if width * height > most:
        raise _too_many_pixels(width * height, most)
    if _orientation(image) in _QUARTER_TURNS:
        width, height = height, width
    resized = round(height * min(1, WIDEST / width))
    if resized > TALLEST:
        raise UnusableImageError(
            _(
                "This image is {height} pixels tall at a width of {width}; the limit is {most}. "
                "Cut it into several images and choose them one by one."
            ).format(height=digits(resized), width=digits(min(width, WIDEST)), most=digits(TALLEST))
        )
    if is_jpeg:
        # Limit the height too, because in a photo that is stored rotated, the height becomes the
        # width.
        image.draft(image.mode, (WIDEST, WIDEST))
    if image.width * image.height > MOST_DECODED_PIXELS:
        raise _too_many_pixels(width * height, MOST_DECODED_PIXELS)


def _too_many_pixels(pixels: int, most: int) -> UnusableImageError:
    return UnusableImageError(
        _(
            "This image has {megapixels} megapixels; the limit is {most}. Save it smaller and "
            "choose it again."
        ).format(megapixels=number_format(math.ceil(pixels / 100_000) / 10), most=most // 1_000_000)
    )


def _is_one_scan(jpeg: bytes) -> bool:
    """Return whether one scan has all colours, so Pillow can decode line by line."""
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


def _keep_animation(image: Image.Image, file: bytes) -> ResizedImage:
    if image.format != "GIF":
        raise UnusableImageError(
            _("Mail shows animations only as GIF. Save this image as a GIF and choose it again.")
        )
    content, frames = strip_gif_metadata(file)
    if frames > MOST_FRAMES:
        sentence = ngettext(
            "This animation has {n} frame; the limit is {most}. Save it with fewer frames and "
            "choose it again.",
            "This animation has {n} frames; the limit is {most}. Save it with fewer frames and "
            "choose it again.",
            frames,
        )
        raise UnusableImageError(sentence.format(n=digits(frames), most=digits(MOST_FRAMES)))
    if image.width > WIDEST or len(content) > LARGEST_IMAGE:
        raise UnusableImageError(
            _(
                "Homing does not resize animations, so the limit is {most_width} pixels in width "
                "and {most_size} MB. This one has {width} pixels and {size} MB. Save it smaller."
            ).format(
                most_width=digits(WIDEST),
                most_size=LARGEST_IMAGE // 1024 // 1024,
                width=digits(image.width),
                size=number_format(len(content) / 1024 / 1024, 1),
            )
        )
    try:
        first_frame = _small_copy(image)
    except _DAMAGED:
        first_frame = b""
    return ResizedImage(content, "image/gif", image.width, image.height, first_frame)


def _normalise(image: Image.Image) -> Image.Image:
    turn = _orientation(image)
    if image.mode.startswith("I;16") or image.mode == "I":
        image = image.point(lambda value: value / 256).convert("L")
    is_transparent = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    profile = image.info.get("icc_profile")
    mode = "RGBA" if is_transparent else "RGB"
    # Resize the image first: the next steps copy it, and a small copy needs less memory.
    image = _narrow(image, mode, turned=turn in _QUARTER_TURNS)
    if turn is not None:
        image = image.transpose(turn)
    if profile and image.mode in ("RGB", "CMYK", "L"):
        image = _convert_to_srgb(image, profile)
    return image if image.mode == mode else image.convert(mode)


def _narrow(image: Image.Image, mode: str, *, turned: bool) -> Image.Image:
    """Return the image, at most `WIDEST` pixels wide; close the image if it is wider."""
    width = image.height if turned else image.width
    if width <= WIDEST:
        return _to_resizable(image, mode)
    wide, high = (max(1, round(side * WIDEST / width)) for side in image.size)
    narrow: Image.Image | None = None
    for top in range(0, image.height, _BAND):
        bottom = min(top + _BAND, image.height)
        band = _to_resizable(image.crop((0, top, image.width, bottom)), mode)
        if mode == band.mode == "RGBA":
            # With premultiplied alpha, the colours of transparent pixels do not mix into visible
            # pixels.
            band = band.convert("RGBa")
        band = band.resize((wide, band.height), Image.Resampling.LANCZOS)
        if narrow is None:
            narrow = Image.new(band.mode, (wide, image.height))
            narrow.info = band.info
        narrow.paste(band, (0, top))
    assert narrow is not None  # noqa: S101
    # Close the image to free its memory now, because callers still refer to it.
    image.close()
    narrow = narrow.resize((wide, high), Image.Resampling.LANCZOS)
    return narrow.convert("RGBA") if narrow.mode == "RGBa" else narrow


def _to_resizable(image: Image.Image, mode: str) -> Image.Image:
    return image if image.mode in ("RGB", "CMYK", "L", mode) else image.convert(mode)


def _orientation(image: Image.Image) -> Image.Transpose | None:
    """Return the rotation that the camera's metadata asks for; None if there is none."""
    try:
        return _TURNS.get(image.getexif().get(_ORIENTATION, 1))
    except _DAMAGED:
        return None


def _convert_to_srgb(image: Image.Image, profile: bytes) -> Image.Image:
    try:
        screen = ImageCms.createProfile("sRGB")
        turned = ImageCms.profileToProfile(image, io.BytesIO(profile), screen, outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image
    return turned if turned is not None else image


def _encode(image: Image.Image, opaque_format: str) -> ResizedImage:
    """Encode the image: reduce quality, then size, until the file is small enough."""
    is_photograph = image.mode == "RGB" and opaque_format in ("JPEG", "WEBP")
    while True:
        for content, content_type in _encodings(image, is_photograph=is_photograph):
            if len(content) <= LARGEST_IMAGE:
                return ResizedImage(
                    content, content_type, image.width, image.height, _small_copy(image)
                )
        size = (max(1, int(image.width * _SMALLER)), max(1, int(image.height * _SMALLER)))
        image = image.resize(size, Image.Resampling.LANCZOS)


def _encodings(image: Image.Image, *, is_photograph: bool) -> Iterator[tuple[bytes, str]]:
    if not is_photograph:
        yield _save(image, "PNG", optimize=True)
    if image.mode == "RGB":
        # Try JPEG next: an image that is too large as PNG is most likely a photo.
        for quality in _QUALITIES:
            yield _save(image, "JPEG", quality=quality, optimize=True, progressive=True)
    else:
        yield _save(image.quantize(256, method=Image.Quantize.FASTOCTREE), "PNG", optimize=True)


def _small_copy(image: Image.Image) -> bytes:
    """Return the image, or the first frame of an animation, as a small WebP."""
    image = image if image.mode in ("RGB", "RGBA") else image.convert("RGBA")
    width = min(image.width, SMALL_WIDTH)
    height = max(1, round(image.height * width / image.width))
    image = image.resize((width, height), Image.Resampling.LANCZOS)
    content, _type = _save(image.crop((0, 0, width, min(height, SMALL_HEIGHT))), "WEBP", quality=75)
    return content


def _save(image: Image.Image, kind: str, **options: Any) -> tuple[bytes, str]:
    # Drop all metadata except transparency.
    image.info = {key: value for key, value in image.info.items() if key == "transparency"}
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue(), f"image/{kind.lower()}"
