"""Store each image once. An image's address never shows another image later."""

import hashlib
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from html import escape

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from delivery.control_characters import clean_name
from delivery.humanise import digits
from publishing.content.edition_content import only_xml_characters
from publishing.images.resize_image import ResizedImage, UnusableImageError, resize_image
from publishing.models import UploadAttempts, UploadedImage

LONGEST_NAME = 200
LONGEST_WAIT_S = 10.0
MEMORY = threading.Lock()
# The columns that have the bytes of an image. Most code does not load these columns.
BYTES = ("content", "small_copy")
EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


def store_image(
    file: bytes,
    name: str,
    *,
    by: uuid.UUID | None,
    is_counted: bool = True,
    own_id: uuid.UUID | None = None,
) -> UploadedImage:
    """Resize an image for mail and store it once. Raises `UnusableImageError`.

    If `is_counted` is False, the hourly limit does not apply, because the caller has another limit.
    `own_id` is the id that the image had on another site.
    """
    sha256 = hashlib.sha256(file).digest()
    new_id = own_id or uuid.uuid4()
    same = UploadedImage.objects.filter(Q(sha256=sha256) | Q(pk=new_id))
    # Clear the mark “unused” before reading the image, so that the image is not deleted after it
    # was read.
    same.exclude(unused_since=None).update(unused_since=None)
    stored = same.defer(*BYTES).first()
    if stored is not None:
        return stored
    if is_counted and by is not None:
        count_attempt(by)
    image = resize_alone(file)
    # If the same file is uploaded twice at the same time, only the row that is stored first is
    # kept.
    UploadedImage.objects.bulk_create(
        [
            UploadedImage(
                id=new_id,
                sha256=sha256,
                name=clean_name(only_xml_characters(name).replace("\x00", ""))[:LONGEST_NAME],
                uploaded_by_id=by,
                **image._asdict(),
            )
        ],
        ignore_conflicts=True,
    )
    return same.defer(*BYTES).get()


def count_attempt(author: uuid.UUID) -> None:
    """Count an upload of this author.

    Call this outside a transaction, so that failed uploads count too.

    Raises `UnusableImageError`.
    """
    most, tries = settings.PICTURES_PER_HOUR, UploadAttempts.objects.filter(author_id=author)
    first = UploadAttempts(author_id=author, since=Now(), tries=0)
    UploadAttempts.objects.bulk_create([first], ignore_conflicts=True)
    tries.filter(since__lte=Now() - timedelta(hours=1)).update(since=Now(), tries=0)
    if not tries.filter(tries__lt=most).update(tries=F("tries") + 1):
        sentence = ngettext(
            "You have reached the limit of {n} upload an hour, including failed uploads "
            "(PICTURES_PER_HOUR). Wait an hour and choose this image again.",
            "You have reached the limit of {n} uploads an hour, including failed uploads "
            "(PICTURES_PER_HOUR). Wait an hour and choose this image again.",
            most,
        )
        raise UnusableImageError(sentence.format(n=digits(most)), status=429)


def resize_alone(file: bytes) -> ResizedImage:
    """Resize an image while no other is resized: each takes up to 150 MB of memory.

    Raises `UnusableImageError`.
    """
    with one_at_a_time():
        return resize_image(file)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until this process works on no other image, then hold the lock.

    Raises `UnusableImageError` if the wait takes too long.
    """
    if not MEMORY.acquire(timeout=LONGEST_WAIT_S):
        raise UnusableImageError(
            _("Other images are being resized. Wait a minute and choose this one again."),
            status=503,
        )
    try:
        yield
    finally:
        MEMORY.release()


def address_of(image: UploadedImage) -> str:
    """Return the public path of an image on this site."""
    return reverse("image", args=[image.pk, EXTENSIONS[image.content_type]])


def small_address_of(image_id: uuid.UUID) -> str:
    """Return the public path of an image's small copy."""
    return reverse("small_image", args=[image_id])


def in_markdown(image: UploadedImage, alt: str) -> str:
    """Return the Markdown that shows the image in a letter."""
    words = " ".join(alt.split()).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"![{words}]({address_of(image)})"


def in_html(image: UploadedImage, alt: str) -> str:
    """Return the HTML that shows the image in a letter."""
    words = escape(" ".join(alt.split()))
    size = f'width="{image.width}" height="{image.height}"'
    return f'<img src="{address_of(image)}" alt="{words}" {size}>'
