"""Store a logo: a PNG unchanged, an SVG as a PNG of its drawing."""

import uuid
from collections.abc import Mapping

from django.utils.translation import gettext as _

from publishing.images.resize_image import MOST_BYTES, TOO_LARGE, UnusableImageError
from publishing.images.store_image import address_of, count_attempt, one_at_a_time, store_image
from publishing.look.draw_svg import draw_svg

_PNG = b"\x89PNG\r\n\x1a\n"
NO_LOGO: Mapping[str, str | int] = {"logo": "", "logo_width": 0, "logo_height": 0}


def store_logo(file: bytes, name: str, by: uuid.UUID) -> dict[str, str | int]:
    """Store the file; return the values of the newsletter's logo columns.

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
    return {"logo": address_of(image), "logo_width": image.width, "logo_height": image.height}
