"""Show images with their sizes, and small copies of them in lists and on phones.

The browser keeps the space of an image whose size it knows, so the page does not move when the
image arrives.
"""

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape

from django.conf import settings
from django.db.models.functions import Length

from publishing.content.letter_images import FoundImage, images_of, pixels, rewrite_images
from publishing.images.resize_image import SMALL_HEIGHT, SMALL_WIDTH
from publishing.images.store_image import small_address_of
from publishing.models import UploadedImage

# The width of a letter in CSS pixels, `--measure` in static/tokens.css. On narrower screens, an
# image is about as wide as the screen.
COLUMN_PX = 544
_STORED = re.compile(r"/pictures/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(png|jpg|gif|webp)")


@dataclass(frozen=True, slots=True)
class StoredSize:
    """The size of a stored image in pixels, and the path of its small copy."""

    width: int
    height: int
    small: str

    @property
    def choice(self) -> str:
        """The small copy and its width, for `srcset`; empty if it shows only a part."""
        has_all = self.width > SMALL_WIDTH and (
            self.height * SMALL_WIDTH <= self.width * SMALL_HEIGHT
        )
        return f"{self.small} {SMALL_WIDTH}w" if self.small and has_all else ""


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image to show: its address, its alt text, and its size if it is known."""

    address: str
    alt: str
    size: StoredSize | None

    @property
    def small(self) -> str:
        """The address of the small copy, or of the image if it has none."""
        return (self.size.small if self.size else "") or self.address

    @property
    def choices(self) -> str:
        """The value of `srcset`; empty if there is nothing to choose."""
        choice = self.size.choice if self.size else ""
        return f"{choice}, {self.address} {self.size.width}w" if choice and self.size else ""


def shown_images(found: Sequence[FoundImage | None]) -> list[ShownImage | None]:
    """Add sizes and small copies to images, in at most one query.

    An image that is no longer stored here becomes None.
    """
    sizes = _load_sizes(image.address for image in found if image)
    return [
        ShownImage(image.address, image.alt, sizes.get(image.address))
        if image and (image.address in sizes or not _stored(image.address))
        else None
        for image in found
    ]


def fit_to_page(body: str) -> str:
    """Add sizes and small copies to images of a letter; all but the first load late."""
    sizes = _load_sizes(unescape(image["src"]) for image in images_of(body))
    number = 0

    def fit(attributes: dict[str, str]) -> Mapping[str, str]:
        nonlocal number
        number += 1
        later = {"loading": "lazy"} if number > 1 else {}
        size = sizes.get(unescape(attributes["src"]))
        return attributes | later | (_fitted(attributes, size) if size else {})

    return rewrite_images(body, fit)


def _fitted(attributes: Mapping[str, str], size: StoredSize) -> dict[str, str]:
    """Return the attributes of a stored image for its size on the page."""
    given = {name: pixels(attributes, name) for name in ("width", "height") if name in attributes}
    if not all(given.values()):
        return {}  # A side is a percentage.
    # If the author gave one side, the image keeps its shape.
    height = given.get("height") or 0
    width = given.get("width") or round(size.width * height / size.height) or size.width
    height = height or max(1, round(size.height * width / size.width))
    fitted = {"width": str(width), "height": str(height)}
    if size.choice and not attributes["src"].endswith(".gif"):
        fitted["srcset"] = f"{size.choice}, {attributes['src']} {size.width}w"
        fitted["sizes"] = (
            f"(max-width: {COLUMN_PX}px) calc(100vw - 2.25rem), {COLUMN_PX}px"
            if width >= COLUMN_PX
            else f"{width}px"
        )
    return fitted


def _load_sizes(addresses: Iterable[str]) -> dict[str, StoredSize]:
    """Return the sizes of the images that are stored here, by their addresses."""
    ids: dict[str, uuid.UUID] = {}
    for address in addresses:
        if found := _stored(address):
            ids[address] = uuid.UUID(found[1])
    if not ids:
        return {}
    rows = (
        UploadedImage.objects.filter(pk__in=set(ids.values()))
        .annotate(small_bytes=Length("small_copy"))
        .values_list("pk", "width", "height", "small_bytes")
    )
    sizes = {
        pk: StoredSize(width, height, small_address_of(pk) if small_bytes else "")
        for pk, width, height, small_bytes in rows
    }
    return {address: sizes[pk] for address, pk in ids.items() if pk in sizes}


def _stored(address: str) -> re.Match[str] | None:
    return _STORED.fullmatch(address.removeprefix(settings.SITE_URL))
