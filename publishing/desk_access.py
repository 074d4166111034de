"""Guard the desk's pages: each guard requires a permission."""

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from publishing.desk_permissions import (
    MANAGE_AUTHORS,
    MAY_ACT,
    MAY_LOOK,
    MAY_WRITE,
    PUBLISH,
    TAKE_READERS_AWAY,
)
from subscribers.desk_frame import Guard
from subscribers.desk_frame import desk_page as desk_page
from subscribers.desk_frame import user_id_of as user_id_of
from subscribers.desk_frame import wants_json as wants_json
from subscribers.reader_permissions import CHANGE_NEWSLETTER, MANAGE

may_publish = Guard(
    PUBLISH, refusal=_("Your account may not publish. Ask your administrator for access.")
)
may_write = Guard(
    *MAY_WRITE, refusal=_("Your account may not write issues. Ask your administrator for access.")
)
may_look = Guard(
    *MAY_LOOK, refusal=_("Your account may not see issues. Ask your administrator for access.")
)
may_take_readers_away = Guard(
    *TAKE_READERS_AWAY,
    refusal=_("Your account may not download readers. Ask your administrator for access."),
)
may_change_newsletter = Guard(
    CHANGE_NEWSLETTER,
    refusal=_("Your account may not change settings. Ask your administrator for access."),
)
may_operate = Guard(
    *MAY_ACT,
    refusal=_("Your account may not operate deliveries. Ask your administrator for access."),
)
may_manage_authors = Guard(
    MANAGE_AUTHORS,
    refusal=_("Your account may not manage authors. Ask your administrator for access."),
)
# The page then shows each user only the parts that the user's permissions allow.
may_see_the_desk = Guard(
    *MAY_LOOK,
    MANAGE,
    refusal=_("Your account may not open this page. Ask your administrator for access."),
)
# Every signed-in user may open the page. The page then decides what the user may see.
signed_in = Guard()


def sees_readers(request: HttpRequest) -> bool:
    """Return whether the user may see readers, in the list or on an issue's page."""
    return any(map(request.user.has_perm, TAKE_READERS_AWAY))
