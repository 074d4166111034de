"""The picture of a video, fetched once and stored like an upload."""

import io
import time
import uuid
from contextlib import suppress

from PIL import Image, ImageDraw

from publishing.content.videos import Video, alt_text
from publishing.external_checks.open_link import FetchError, LinkOpener
from publishing.images.images import count_attempt, in_markdown, resize_alone, store_image
from publishing.images.resize_image import UnusableImageError
from publishing.models import UploadedImage

PICTURE_HOST = "i.ytimg.com"
MOST_FETCHED_BYTES = 2 * 1024 * 1024
FETCH_TIMEOUT_S = 6.0
# Old videos have only the second size.
_SIZES = ("maxresdefault", "hqdefault")


def store_picture(
    video: Video, opener: LinkOpener, *, by: uuid.UUID, host: str = PICTURE_HOST
) -> UploadedImage | None:
    """Store the picture of a video; None if there is none.

    It counts as an upload. Raises `UnusableImageError` at the hourly limit."""
    if not video.youtube_id:
        return None
    count_attempt(by)
    deadline = time.monotonic() + FETCH_TIMEOUT_S
    for size in _SIZES:
        with suppress(FetchError, UnusableImageError):
            file = opener.fetch(
                f"https://{host}/vi/{video.youtube_id}/{size}.jpg",
                hosts={host},
                most=MOST_FETCHED_BYTES,
                deadline=deadline,
            )
            name = f"{video.youtube_id}.jpg"
            return store_image(_with_play_sign(file), name, by=by, is_counted=False)
    return None


def _with_play_sign(file: bytes) -> bytes:
    """Draw a play button on the picture. Raises `UnusableImageError`."""
    picture = Image.open(io.BytesIO(resize_alone(file).content)).convert("RGB")
    x, y, radius = picture.width / 2, picture.height / 2, picture.height / 7
    draw = ImageDraw.Draw(picture, "RGBA")
    draw.circle((x, y), radius, fill=(0, 0, 0, 190))
    draw.regular_polygon((x, y, radius / 2), 3, rotation=-90, fill="white")
    drawn = io.BytesIO()
    picture.save(drawn, "JPEG", quality=90)
    return drawn.getvalue()


def video_markdown(video: Video, picture: UploadedImage | None, title: str) -> str:
    """Return the Markdown of a linked picture.

    A paragraph with only the address becomes a button."""
    if picture is None:
        return video.address
    # Outlook would show a large picture wider than the letter.
    return f"[{in_markdown(picture, alt_text(title))}{{width=100%}}]({video.address})"
