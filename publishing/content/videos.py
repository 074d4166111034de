"""Find addresses of videos on YouTube and Vimeo, and make texts for their links."""

import re
from typing import NamedTuple

from django.utils.translation import gettext as _

from delivery.languages import in_language_of
from delivery.models import Newsletter

LONGEST_ADDRESS = 300
# Characters that cannot end a link: no space, quote or bracket. The sign @ is not among them, so
# that the address cannot contain a user name.
_PLAIN = "[A-Za-z0-9_./?=&%#~+,;:-]"
_VALUE = "[A-Za-z0-9_./?=%~+,;:-]"
_ID = "([A-Za-z0-9_-]{11})"
# The editor of the composer reads this pattern too, so it is written as both languages read it.
VIDEO_ADDRESS = (
    rf"https?://(?:youtu\.be/{_ID}/?|(?:www\.|m\.)?youtube\.com/(?:(?:shorts|live)/{_ID}/?"
    rf"|watch\?(?:(?!v=){_VALUE}*&)*v={_ID}(?=[&#]|$))"
    rf"|(?:www\.)?vimeo\.com/[0-9]{{1,12}}(?:/[0-9a-f]{{1,20}})?/?)(?:[?&#]{_PLAIN}*)?"
)
_VIDEO = re.compile(VIDEO_ADDRESS)
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
    scheme, _sign, rest = text.partition("://")
    host, slash, path = rest.partition("/")
    found = _VIDEO.fullmatch(f"{scheme}://{host.lower()}{slash}{path}")
    if found is None or len(text) > LONGEST_ADDRESS:
        return None
    return Video(f"https://{rest}", next(filter(None, found.groups()), ""))


def watch_words() -> str:
    """Return the words of a link to a video, in the newsletter's language."""
    with in_language_of(Newsletter.objects.get_current()):
        return _PLAY + _("Watch the video")


def alt_text(title: str) -> str:
    """Return the alt text of a video's picture, in the newsletter's language."""
    with in_language_of(Newsletter.objects.get_current()):
        return _("Video: {title}").format(title=title) if title else _("Watch the video")
