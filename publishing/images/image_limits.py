"""How large an uploaded image may be, in bytes, pixels and frames."""

WIDEST = 1200
MOST_BYTES = 10 * 1024 * 1024
# Pixels of a JPEG that can be decoded line by line at a half, a quarter or an eighth of its size.
MOST_PIXELS = 50_000_000
# Pixels of images that are decoded whole: four bytes a pixel, twice.
MOST_DECODED_PIXELS = 15_000_000
# The WebP decoder keeps two canvases of its own.
MOST_WEBP_PIXELS = 8_000_000
# Height in pixels after resizing: four screens of a telephone.
TALLEST = 8_000
# Frames of an animation: half a minute at the usual pace. Every mail program decodes each frame.
MOST_FRAMES = 500
TOO_LARGE = (
    f"This file has more than {MOST_BYTES // 1024 // 1024} MB; "
    "save the picture smaller and choose it again."
)
