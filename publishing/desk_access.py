"""Guards of the desk's pages by permission."""

from django.http import HttpRequest

from publishing.permissions import MAY_ACT, MAY_LOOK, MAY_WRITE, PUBLISH, TAKE_READERS_AWAY
from subscribers.desk_access import Guard
from subscribers.desk_access import desk_page as desk_page
from subscribers.desk_access import user_id_of as user_id_of
from subscribers.permissions import MANAGE

may_publish = Guard(PUBLISH, what="Publishing")
may_write = Guard(*MAY_WRITE, what="Writing")
may_look = Guard(*MAY_LOOK, what="Looking at issues")
may_take_readers_away = Guard(*TAKE_READERS_AWAY, what="Downloading the readers of an issue")
may_operate = Guard(*MAY_ACT, what="Operating")
# Each user sees the parts for which they have a permission.
may_see_the_desk = Guard(*MAY_LOOK, MANAGE, what="The desk")
# The page decides what a user may see.
signed_in = Guard()


def sees_readers(request: HttpRequest) -> bool:
    """Return whether the user may see readers, in the list or on an issue's page."""
    return any(map(request.user.has_perm, TAKE_READERS_AWAY))
