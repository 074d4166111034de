"""Prepare a video for a letter: the markup of its linked picture."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from delivery.control_characters import clean_name
from publishing.content.draft_content import HTML
from publishing.content.markdown import render_markdown
from publishing.content.videos import find_video
from publishing.desk_access import desk_page, may_write, user_id_of
from publishing.external_checks.domain_records import NameServers
from publishing.external_checks.open_link import LinkOpener
from publishing.images.images import LONGEST_NAME, address_of
from publishing.images.resize_image import UnusableImageError
from publishing.images.video_picture import store_picture, video_markdown


@may_write
@require_POST
def prepare_video(request: HttpRequest) -> HttpResponse:
    """Show the picture of the posted video, and a button that inserts it."""
    return desk_page(request, "publishing/video_ready.html", _prepared(request))


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
