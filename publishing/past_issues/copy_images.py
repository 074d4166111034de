"""Copy images of moved-in issues from the export's ZIP or the old product's hosts."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit
from uuid import UUID

from publishing.external_checks.open_link import FetchError, LinkOpener
from publishing.images.resize_image import MOST_BYTES, UnusableImageError
from publishing.images.store_image import address_of, store_image
from publishing.past_issues.clean_letter import is_pixel
from publishing.past_issues.past_issue import Product
from publishing.past_issues.read_export import Export
from subscribers.files.zip_entries import UnusableZipError

MOST_FETCHED = 5_000
# Limits: the number of copied images, and the length of an image's address. An image beyond a limit
# keeps its old address.
MOST_KNOWN = 20_000
LONGEST_ADDRESS = 1_000
FETCH_TIMEOUT_S = 20.0
# The time limit for fetching all images of a move, in seconds. After this time, the remaining
# images keep their old addresses.
ALL_FETCHES_S = 3600.0
_UUID_LENGTH = 36
_SUBSTACK_MEDIA = "substack-post-media.s3.amazonaws.com"

Taken = tuple[str, int, int] | None


@dataclass(slots=True)
class ImageCopier:
    """Copies each image once; `kept` lists the addresses that were not copied."""

    export: Export
    opener: LinkOpener
    by: UUID | None
    heartbeat: Callable[[], None]  # called before each image; may raise an error
    kept: list[str] = field(default_factory=list)
    _known: dict[str, Taken] = field(default_factory=dict)
    _in_zip: dict[str, list[str]] = field(default_factory=dict)
    _fetched: int = 0
    _fetched_s: float = 0.0

    def __post_init__(self) -> None:
        for path in self.export.entries.paths if self.export.entries else ():
            self._in_zip.setdefault(path.rpartition("/")[2], []).append(path)

    def take(self, address: str) -> Taken:
        """Return the address and size of a stored image; None for a tracking pixel.

        An image that cannot be stored keeps its address and has no size.
        """
        if address.startswith("data:"):
            return address, 0, 0
        if not address:
            return None
        if address.startswith("http://"):
            address = f"https://{address.removeprefix('http://')}"
        taken: Taken = (address, 0, 0)
        if address in self._known:
            taken = self._known[address]
        elif len(address) <= LONGEST_ADDRESS and len(self._known) < MOST_KNOWN:
            taken = self._known[address] = self._take(address)
        if taken is not None and not taken[1]:
            self.kept.append(address[:LONGEST_ADDRESS])
        return taken

    def _take(self, address: str) -> Taken:
        self.heartbeat()
        is_own = self.export.product is Product.HOMING
        for candidate in [address] if is_own else _candidates(address):
            content = self._from_zip(candidate) or self._fetch(candidate)
            if content is None:
                continue
            name = unquote(urlsplit(candidate).path).rpartition("/")[2]
            own_id = UUID(name[:_UUID_LENGTH]) if is_own else None
            try:
                image = store_image(content, name, by=self.by, is_counted=False, own_id=own_id)
            except (UnusableImageError, MemoryError):
                # The image is not usable, or this process has too little memory for it.
                continue
            if not is_own and is_pixel(image.width, image.height):
                return None
            return address_of(image), image.width, image.height
        return address, 0, 0

    def _from_zip(self, address: str) -> bytes | None:
        path = unquote(urlsplit(address).path)
        same_name = self._in_zip.get(path.rpartition("/")[2], [])
        found = [one for one in same_name if one.endswith(path.lstrip("/"))] or same_name
        if len(found) != 1 or self.export.entries is None:
            return None
        try:
            return self.export.entries.read(found[0], MOST_BYTES)
        except UnusableZipError:
            return None

    def _fetch(self, address: str) -> bytes | None:
        if urlsplit(address).netloc.lower() not in self.export.hosts:
            return None
        if self._fetched >= MOST_FETCHED or self._fetched_s > ALL_FETCHES_S:
            return None
        self._fetched += 1
        begin = time.monotonic()
        try:
            return self.opener.fetch(
                address,
                hosts=self.export.hosts,
                most=MOST_BYTES,
                deadline=begin + FETCH_TIMEOUT_S,
            )
        except FetchError:
            return None
        finally:
            self._fetched_s += time.monotonic() - begin


def _candidates(address: str) -> list[str]:
    """Return the addresses to try for an image: the original, then a resized copy."""
    found = []
    resized = "/image/fetch/" in address
    for one in ([unquote(address.rpartition("/")[2])] if resized else []) + [address]:
        try:
            parts = urlsplit(one)
            host = parts.hostname or ""
        except ValueError:
            continue
        if host.startswith("bucketeer-") and host.endswith(".s3.amazonaws.com"):
            # Substack's old image host no longer exists. The same paths work on the current host.
            one = urlunsplit(("https", _SUBSTACK_MEDIA, parts.path, "", ""))
        if parts.scheme == "https" and host:
            found.append(one)
    return found
