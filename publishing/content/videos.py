"""Find addresses of videos on YouTube and Vimeo, and make texts for their links."""

import re
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from django.utils.translation import gettext as _

from delivery.languages import in_language_of
from delivery.models import Newsletter

LONGEST_ADDRESS = 300
_YOUTUBE = frozenset({"youtube.com", "www.youtube.com", "m.youtube.com"})
_VIMEO = frozenset({"vimeo.com", "www.vimeo.com"})
# Allow only characters that cannot end the link: no space, quote or bracket. The sign @ is
# excluded, so that the address cannot contain a user name.
_PLAIN = re.compile(r"https?://[A-Za-z0-9_./?=&%#~+,;:-]+")
_ID = re.compile(r"[A-Za-z0-9_-]{11}")
_PATH_WITH_ID = re.compile(r"/(?:shorts|live)/([^/]+)/?")
_VIMEO_PATH = re.compile(r"/[0-9]{1,12}(?:/[0-9a-f]{1,20})?/?")
# A play symbol. With the variation selector after the symbol, mail programs show the symbol as text
# and not as a coloured picture.
_PLAY = "\u25b6\ufe0e "


class Video(NamedTuple):
    """A video's address, and its id on YouTube; the id is empty for Vimeo."""

    address: str
    youtube_id: str = ""


def find_video(text: str) -> Video | None:
    """Return the video if the text is only the address of a video."""
    text = text.strip()
    if len(text) > LONGEST_ADDRESS or not _PLAIN.fullmatch(text):
        return None
    parts = urlsplit(text)
    address = f"https://{text.partition('://')[2]}"
    host = parts.netloc.lower()
    if host in _VIMEO:
        return Video(address) if _VIMEO_PATH.fullmatch(parts.path) else None
    found = ""
    if host == "youtu.be":
        found = parts.path.strip("/")
    elif host in _YOUTUBE and parts.path == "/watch":
        found = parse_qs(parts.query).get("v", [""])[0]
    elif host in _YOUTUBE and (path := _PATH_WITH_ID.fullmatch(parts.path)):
        found = path[1]
    return Video(address, found) if _ID.fullmatch(found) else None


def watch_words() -> str:
    """Return the words of a link to a video, in the newsletter's language."""
    with in_language_of(Newsletter.objects.get_current()):
        return _PLAY + _("Watch the video")


def alt_text(title: str) -> str:
    """Return the alt text of a video's picture, in the newsletter's language."""
    with in_language_of(Newsletter.objects.get_current()):
        return _("Video: {title}").format(title=title) if title else _("Watch the video")
