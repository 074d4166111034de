"""Store a logo: a PNG unchanged, an SVG as a PNG of its drawing.

Each logo has three columns of the newsletter: its address, its width and its height.
"""

import uuid

from django.utils.translation import gettext as _

from publishing.images.resize_image import MOST_BYTES, TOO_LARGE, UnusableImageError
from publishing.images.store_image import address_of, count_attempt, one_at_a_time, store_image
from publishing.look.draw_svg import draw_svg

_PNG = b"\x89PNG\r\n\x1a\n"
LOGOS = ("logo", "dark_logo")
LogoColumns = dict[str, str | int]


def logo_columns(logo: str, address: str = "", width: int = 0, height: int = 0) -> LogoColumns:
    """Return the columns of one of the `LOGOS`. No address means no logo."""
    return {logo: address, f"{logo}_width": width, f"{logo}_height": height}


def store_logo(logo: str, file: bytes, name: str, by: uuid.UUID) -> LogoColumns:
    """Store the file; return the columns of the logo.

    Raises `UnusableImageError`.
    """
    if len(file) > MOST_BYTES:
        raise UnusableImageError(str(TOO_LARGE))
    file_is_png = file.startswith(_PNG)
    if not file_is_png:
        if not file.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            raise UnusableImageError(
                _("A logo is a PNG or an SVG file. Save your logo as one of them.")
            )
        count_attempt(by)  # before drawing, because a failed drawing takes time too
        with one_at_a_time():
            file = draw_svg(file)
    image = store_image(file, name, by=by, is_counted=file_is_png)
    return logo_columns(logo, address_of(image), image.width, image.height)
