"""Prepare a video for a letter: make the markup of a picture that links to it."""

import io
import time
import uuid
from contextlib import suppress
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from PIL import Image, ImageDraw

from delivery.control_characters import clean_name
from publishing.content.draft_content import HTML
from publishing.content.markdown import render_markdown
from publishing.content.videos import Video, alt_text, find_video
from publishing.desk_access import desk_page, may_write, user_id_of
from publishing.external_checks.domain_records import NameServers
from publishing.external_checks.open_link import FetchError, LinkOpener
from publishing.images.resize_image import UnusableImageError
from publishing.images.store_image import (
    LONGEST_NAME,
    address_of,
    count_attempt,
    in_markdown,
    resize_alone,
    store_image,
)
from publishing.models import UploadedImage

PICTURE_HOST = "i.ytimg.com"
MOST_FETCHED_BYTES = 2 * 1024 * 1024
FETCH_TIMEOUT_S = 6.0
# The names of a picture's sizes. The first size is the best, but old videos have only the second
# size.
_SIZES = ("maxresdefault", "hqdefault")


def store_picture(
    video: Video, opener: LinkOpener, *, by: uuid.UUID, host: str = PICTURE_HOST
) -> UploadedImage | None:
    """Store the picture of a video and return it; None if the video has no picture.

    The picture counts as an upload of the author. Raises `UnusableImageError` at the hourly limit.
    """
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

    Without a picture, return only the address of the video. A paragraph that has only this address
    becomes a button.
    """
    if picture is None:
        return video.address
    # Limit the width, because Outlook would show a large picture in its full width, wider than the
    # letter.
    return f"[{in_markdown(picture, alt_text(title))}{{width=100%}}]({video.address})"


@may_write
@require_POST
def prepare_video(request: HttpRequest) -> HttpResponse:
    """Show the picture of the posted video, and a button that inserts it."""
    return desk_page(request, "publishing/composer/video_ready.html", _prepared(request))


def _prepared(request: HttpRequest) -> dict[str, Any]:
    video = find_video(request.POST.get("video_address", ""))
    if video is None:
        return {
            "error": _(
                "This is not the address of a video on YouTube or Vimeo. Copy the address of the "
                "video’s page."
            )
        }
    try:
        picture = store_picture(video, LinkOpener(NameServers()), by=user_id_of(request))
    except UnusableImageError as error:
        return {"error": str(error)}
    title = clean_name(request.POST.get("video_title", ""))[:LONGEST_NAME]
    markup = video_markdown(video, picture, title)
    return {
        "picture": address_of(picture) if picture else "",
        "markup": render_markdown(markup) if request.POST.get("format") == HTML else markup,
    }
