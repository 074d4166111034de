"""Limits of uploaded images, in bytes, pixels and frames."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

WIDEST = 1200
MOST_BYTES = 10 * 1024 * 1024
# Pixels of a JPEG that can be decoded line by line at 1/2, 1/4 or 1/8 of its size.
MOST_PIXELS = 50_000_000
# Pixels of images that are decoded completely: 4 bytes a pixel, twice.
MOST_DECODED_PIXELS = 15_000_000
# The WebP decoder keeps two canvases.
MOST_WEBP_PIXELS = 8_000_000
# Height in pixels after resizing: four screens of a phone.
TALLEST = 8_000
# Frames of an animation: half a minute at the usual pace. Mail programs decode every frame.
MOST_FRAMES = 500
TOO_LARGE = format_lazy(
    _("This file is larger than {most} MB. Save the image smaller and choose it again."),
    most=MOST_BYTES // 1024 // 1024,
)
