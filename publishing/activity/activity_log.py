"""Read the activity log, newest first: the entries that the user may see."""

import uuid
from collections.abc import Collection, Iterable
from functools import reduce
from operator import or_

from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from publishing.activity.activity_sentences import sentence_of
from publishing.desk_permissions import MANAGE_AUTHORS, MAY_WRITE, OPERATE, PUBLISH
from publishing.display_name import called
from publishing.models import Draft
from subscribers.reader_permissions import CHANGE_NEWSLETTER, MANAGE

User = AbstractBaseUser | AnonymousUser


def _about(*apps: str, **condition: str) -> Q:
    return Q(content_type__app_label__in=apps, **condition)


_IMPORT = _about("subscribers", content_type__model="subscriberimport")
_READER = _about("subscribers", content_type__model="subscriber")
_SEES_ACCOUNTS = (
    *(OPERATE, MANAGE_AUTHORS),
    *("newsletter_site.view_user", "newsletter_site.change_user"),
)
# The label and the entries of each category. A user with any one of a category's permissions sees
# the category's entries.
_CATEGORIES = {
    "issues": (gettext_lazy("Issues"), _about("publishing", "delivery"), (PUBLISH, OPERATE)),
    "imports": (gettext_lazy("Imports"), _IMPORT, (MANAGE,)),
    "readers": (gettext_lazy("Readers"), _READER, (MANAGE,)),
    "accounts": (gettext_lazy("Accounts"), _about("newsletter_site", "auth"), _SEES_ACCOUNTS),
}

# An entry and its sentence as HTML, with a link to the page of its object if there is one.
Activity = tuple[LogEntry, SafeString]


def categories_for(user: User) -> dict[str, str]:
    """Return the labels of the categories that this user may see, by category name."""
    may = user.has_perm  # type: ignore[union-attr]
    found = _CATEGORIES.items()
    return {name: str(label) for name, (label, _, which) in found if any(map(may, which))}


def activities_for(
    user: User,
    *,
    category: str = "",
    person: uuid.UUID | None = None,
    before: int | None = None,
    limit: int,
) -> tuple[list[Activity], int | None]:
    """Return a page of entries before the id `before`, and the next page's `before`.

    The second value is None on the last page.
    """
    chosen = [_CATEGORIES[name][1] for name in categories_for(user) if category in ("", name)]
    entries = LogEntry.objects.filter(reduce(or_, chosen, Q(pk__in=()))).order_by("-pk")
    if person is not None:
        entries = entries.filter(user_id=person)
    if before is not None:
        entries = entries.filter(pk__lt=before)
    found = list(entries.select_related("user", "content_type")[: limit + 1])
    shown, more = found[:limit], len(found) > limit
    drafts = _drafts_open_to(user, shown)
    activities = [(entry, _sentence(entry, user, drafts)) for entry in shown]
    return activities, shown[-1].pk if more else None


def people() -> list[object]:
    """Return the users for the log's filter: staff, and users with an entry."""
    users = get_user_model().objects.filter(Q(is_staff=True) | Q(logentry__isnull=False))
    return list(users.distinct().order_by("first_name", "last_name", "username"))


def _sentence(entry: LogEntry, user: User, drafts: Collection[str]) -> SafeString:
    name, address = _named(entry, user, drafts)
    thing = format_html('<a href="{}">{}</a>', address, name) if address else name
    return sentence_of(entry).as_html(called(entry.user), thing)


def _drafts_open_to(user: User, entries: Iterable[LogEntry]) -> Collection[str]:
    keys = {
        key
        for entry in entries
        if entry.content_type and entry.content_type.model == "draft"
        if (key := parse_id(entry.object_id))
    }
    if not keys or not any(user.has_perm(one) for one in MAY_WRITE):  # type: ignore[union-attr]
        return ()
    return {str(pk) for pk in Draft.objects.filter(pk__in=keys).values_list("pk", flat=True)}


def parse_id(key: str | None) -> uuid.UUID | None:
    """Return the text as a UUID, or None if it is not a UUID."""
    try:
        return uuid.UUID(key or "")
    except ValueError:
        return None


def _named(entry: LogEntry, user: User, drafts: Collection[str]) -> tuple[str, str]:
    """Return the name of the entry's object, and its address if the user may open it."""
    key, model = entry.object_id, entry.content_type
    match (model.app_label, model.model) if model else ("", ""):
        case "publishing", "issue":
            return entry.object_repr, _address("desk:progress", key)
        case "publishing", "draft":
            return entry.object_repr, _address("desk:draft", key) if key in drafts else ""
        case "subscribers", "subscriberimport":
            return entry.object_repr, _address("readers:import", key)
        case "subscribers", "subscriber" if key:
            erased = entry.is_deletion()
            return _("reader {id}").format(id=key), "" if erased else _address(
                "readers:reader", key
            )
        case "subscribers", _:
            return "", ""
        case "delivery", "newsletter":
            may = user.has_perm(CHANGE_NEWSLETTER)  # type: ignore[union-attr]
            return entry.object_repr, reverse("readers:settings") if may else ""
        case "newsletter_site", "user":
            may = user.has_perm(MANAGE_AUTHORS)  # type: ignore[union-attr]
            name = _("the account {name}").format(name=entry.object_repr)
            gone = entry.is_deletion() or not may
            return name, "" if gone else _address("author", key)
        case ("publishing", "issuemove") | ("newsletter_site", "apitoken" | "invitation"):
            return entry.object_repr, ""
        case _:
            return f"{entry.object_repr} ({model.name})" if model else entry.object_repr, ""


def _address(name: str, key: str | None) -> str:
    if not key:
        return ""
    try:
        return reverse(name, args=[key])
    except NoReverseMatch:
        return ""
