"""
Who did what and when, as far as somebody may know: the log that the admin keeps, newest first.

Whoever publishes or operates sees what was done with issues, whoever manages readers what was done
with readers, and whoever operates or may look at accounts what was done with those.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet
from django.urls import NoReverseMatch, reverse

from publishing.activity.activity_sentences import Said, said
from publishing.models import Draft
from publishing.permissions import MAY_WRITE, OPERATE, PUBLISH
from subscribers.permissions import MANAGE

User = AbstractBaseUser | AnonymousUser


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing that is done: by which apps and models it is known, and who may see it."""

    name: str
    words: str
    things: tuple[tuple[str, str], ...]
    seen_by: tuple[str, ...]


_OF_AN_APP = "*"

KINDS = (
    Kind(
        "issues",
        "Issues",
        (("publishing", _OF_AN_APP), ("delivery", _OF_AN_APP)),
        (PUBLISH, OPERATE),
    ),
    Kind("imports", "Imports", (("subscribers", "subscriberimport"),), (MANAGE,)),
    Kind("readers", "Readers", (("subscribers", "subscriber"),), (MANAGE,)),
    Kind(
        "accounts",
        "Accounts",
        (("newsletter_site", _OF_AN_APP), ("auth", _OF_AN_APP)),
        (OPERATE, "newsletter_site.view_user", "newsletter_site.change_user"),
    ),
)


@dataclass(frozen=True, slots=True)
class Deed:
    """One line of the log. `leads_to` is empty where there is no page, or none for this viewer."""

    pk: int
    at: datetime
    who: object
    said: Said
    leads_to: str


@dataclass(frozen=True, slots=True)
class Deeds:
    """Some lines, and the number before which the next page begins, if there is one."""

    deeds: Sequence[Deed]
    before: int | None


def kinds_for(user: User) -> list[Kind]:
    """The kinds that this person may see; none for whoever has no business with the log."""
    return [kind for kind in KINDS if any(user.has_perm(one) for one in kind.seen_by)]  # type: ignore[union-attr]


def deeds_for(
    user: User,
    *,
    kind: str = "",
    person: uuid.UUID | None = None,
    before: int | None = None,
    most: int,
) -> Deeds:
    """
    What was done, the newest first, at most so many. One query, whatever it finds, and one more
    where drafts are among it.

    A page begins before the entry with the id `before`, so that nothing is shown twice or left out
    because something was done meanwhile.
    """
    kinds = [one for one in kinds_for(user) if kind in ("", one.name)]
    if not kinds:
        return Deeds([], None)
    entries = _of(kinds).select_related("user", "content_type").order_by("-pk")
    if person is not None:
        entries = entries.filter(user_id=person)
    if before is not None:
        entries = entries.filter(pk__lt=before)
    found = list(entries[: most + 1])
    more = len(found) > most
    drafts = _drafts_open_to(user, found[:most])
    return Deeds(
        [_deed(entry, user, drafts) for entry in found[:most]], found[most - 1].pk if more else None
    )


def people() -> list[object]:
    """Whoever can have done something: those who can sign in here, or could."""
    who = get_user_model().objects.filter(Q(is_staff=True) | Q(logentry__isnull=False))
    return list(who.distinct().order_by("first_name", "last_name", "username"))


def _of(kinds: Iterable[Kind]) -> QuerySet[LogEntry]:
    condition = Q(pk__in=())
    for kind in kinds:
        for app, model in kind.things:
            of_app = Q(content_type__app_label=app)
            condition |= of_app if model == _OF_AN_APP else of_app & Q(content_type__model=model)
    return LogEntry.objects.filter(condition)


def _drafts_open_to(user: User, entries: Iterable[LogEntry]) -> Collection[str]:
    """Of the drafts that these are about those that are still there, for whoever may open them."""
    keys = {
        key
        for entry in entries
        if entry.content_type
        and (entry.content_type.app_label, entry.content_type.model) == ("publishing", "draft")
        and (key := _id_in(entry.object_id))
    }
    if not keys or not any(user.has_perm(one) for one in MAY_WRITE):  # type: ignore[union-attr]
        return ()
    return {str(pk) for pk in Draft.objects.filter(pk__in=keys).values_list("pk", flat=True)}


def _id_in(key: str | None) -> uuid.UUID | None:
    """The id that an entry names; None where it names none."""
    try:
        return uuid.UUID(key or "")
    except ValueError:
        return None


def _deed(entry: LogEntry, user: User, drafts: Collection[str]) -> Deed:
    thing = entry.content_type
    app, model = (thing.app_label, thing.model) if thing else ("", "")
    name, leads_to = _named(entry, app, model, user, drafts)
    return Deed(
        pk=entry.pk,
        at=entry.action_time,
        who=entry.user,
        said=said(_sentence(entry), name),
        leads_to=leads_to,
    )


def _sentence(entry: LogEntry) -> str:
    """Where something was deleted the admin leaves it empty, and where nothing changed too."""
    words = entry.get_change_message()
    if words in ("", "[]", "No fields changed."):
        return "Deleted." if entry.is_deletion() else "Saved, with nothing changed."
    return words


def _named(
    entry: LogEntry, app: str, model: str, user: User, drafts: Collection[str]
) -> tuple[str, str]:
    """What the thing is called, and the address of its page."""
    key = entry.object_id
    match app, model:
        case "publishing", "issue":
            return entry.object_repr, _address("desk:progress", key)
        case "publishing", "draft":
            return entry.object_repr, _address("desk:draft", key) if key in drafts else ""
        case "subscribers", "subscriberimport":
            name = entry.object_repr.removeprefix(f"import {key} of ")
            return name, _address("readers:import", key)
        case "subscribers", "subscriber" if key:
            erased = entry.is_deletion()
            return f"reader {key}", "" if erased else _address("readers:reader", key)
        case "subscribers", _:
            return "", ""
        case "newsletter_site", "user":
            may = user.has_perm("newsletter_site.view_user")  # type: ignore[union-attr]
            name = f"the account {entry.object_repr}"
            gone = entry.is_deletion() or not may
            return name, "" if gone else _address("admin:newsletter_site_user_change", key)
        case _:
            return f"the {model} {entry.object_repr}".strip(), ""


def _address(name: str, key: str | None) -> str:
    if not key:
        return ""
    try:
        return reverse(name, args=[key])
    except NoReverseMatch:
        return ""
