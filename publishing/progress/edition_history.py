"""What happened to an edition, the newest first: what people did, and what happened by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.admin.models import LogEntry

from delivery.humanise import counted_copies
from delivery.models import Edition
from publishing.display_name import called
from publishing.editions.status import EditionStatus
from publishing.models import Issue

MOST = 50
# How the audit trail names the version that a line is about.
_VERSION = re.compile(r"(?: of)?,? version (\d+)\b")
# A line that begins with it tells what the version did by itself.
_BY_ITSELF = re.compile(r"^Version (\d+)\b")


@dataclass(frozen=True, slots=True)
class Happened:
    """One thing that happened, and when."""

    at: datetime
    words: str


def history_of(edition: Edition, status: EditionStatus, *, most: int = MOST) -> list[Happened]:
    """
    What is kept of an edition. Lines of the trail that name no version are about the issue, and
    stand with every version of it.
    """
    entries = (
        LogEntry.objects.filter(
            content_type__app_label=Issue._meta.app_label,
            content_type__model=Issue._meta.model_name,
            object_id=str(edition.issue_id),
        )
        .select_related("user")
        .order_by("-pk")[: 4 * most]
    )
    people = [
        Happened(entry.action_time, words)
        for entry in entries
        if (words := words_of(entry.get_change_message(), called(entry.user), edition.version))
    ]
    return in_order([*people, *_by_itself(edition, status)])[:most]


def words_of(sentence: str, who: str, version: int) -> str:
    """A line of the trail with its person; empty if it is about another version. Pure."""
    by_itself = _BY_ITSELF.match(sentence)
    named = by_itself or _VERSION.search(sentence)
    if named and int(named[1]) != version:
        return ""
    if by_itself:
        return _BY_ITSELF.sub("It", sentence).removesuffix(".")
    # That it is about this version goes without saying on its page.
    words = _VERSION.sub("", sentence).removesuffix(".")
    return f"{who}: {words[:1].lower()}{words[1:]}"


def in_order(happened: Sequence[Happened]) -> list[Happened]:
    """The newest first; of one moment, what was told later first. Pure."""
    return sorted(happened, key=lambda one: one.at, reverse=True)


def _by_itself(edition: Edition, status: EditionStatus) -> list[Happened]:
    """What nobody did: the end of the hold, and what Homing stopped."""
    books = status.books
    told = []
    if books.now >= books.held_until > books.published_at and (books.sent or books.unknown):
        told.append(Happened(books.held_until, "The hold ended, and the first copies left"))
    stopped_itself = edition.control == "stopped" or (
        edition.control == "paused" and edition.control_reason
    )
    if stopped_itself and edition.control_at is not None:
        told.append(
            Happened(edition.control_at, f"Homing stopped it: {edition.control_reason}".strip("."))
        )
    if books.doubt_since is not None and books.unknown:
        told.append(
            Happened(
                books.doubt_since, f"No answer came back about {counted_copies(books.unknown)}"
            )
        )
    return told
