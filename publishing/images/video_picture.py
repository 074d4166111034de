"""The picture of a video, fetched once and stored as an image of ours."""

import time
import uuid
from contextlib import suppress

from publishing.content.videos import Video, alt_text
from publishing.external_checks.open_link import FetchError, LinkOpener
from publishing.images.images import count_attempt, in_markdown, store_image
from publishing.images.resize_image import UnusableImageError
from publishing.models import UploadedImage

PICTURE_HOST = "i.ytimg.com"
MOST_FETCHED_BYTES = 2 * 1024 * 1024
FETCH_TIMEOUT_S = 6.0
# Old videos have only the second one.
_SIZES = ("maxresdefault", "hqdefault")


def store_picture(
    video: Video, opener: LinkOpener, *, by: uuid.UUID, host: str = PICTURE_HOST
) -> UploadedImage | None:
    """Store the picture of a video; None if there is none.

    It counts as an upload. Raises `UnusableImageError` at the limit of the hour."""
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
            return store_image(file, f"{video.youtube_id}.jpg", by=by, is_counted=False)
    return None


def video_markdown(video: Video, picture: UploadedImage | None, title: str) -> str:
    """Return the Markdown of a linked picture.

    A paragraph with only the address becomes a button."""
    if picture is None:
        return video.address
    return f"[{in_markdown(picture, alt_text(title))}]({video.address})"
