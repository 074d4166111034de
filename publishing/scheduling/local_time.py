"""
Reading the moment at which an issue is to go out: a local time, a zone, and which of two. Pure.

A local time names a moment, except twice a year: the clocks go forward over some, and those never
come; they go back over others, and those come twice. Neither is guessed at. The clock is a
parameter throughout.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo, available_timezones

from delivery.humanise import late_duration
from delivery.rules.scheduled_time import LOCAL, Moment, day_and_time

if TYPE_CHECKING:
    from delivery.models import Edition

__all__ = [
    "InvalidMomentError",
    "Moment",
    "clock_change",
    "fold_choice",
    "is_too_late",
    "late_pause_reason",
    "late_start_sentence",
    "lateness_words",
    "moment_in_zone",
    "moment_refusal",
    "read_moment",
    "scheduled_moment",
    "zones",
]

FURTHEST = timedelta(days=366)
# A change of the clocks so soon after the moment is worth knowing of.
NEAR = timedelta(days=45)
# Zones that people live in; the rest of the database are its own names and old spellings.
AREAS = {
    *("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe"),
    *("Indian", "Pacific"),
}
NO_PLACES = {"localtime", "Factory"}

_LOCAL = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2})(?::00(?:\.0{1,6})?)?")

Which = Literal["", "first", "second"]


class InvalidMomentError(ValueError):
    """
    No moment is meant by it, or more than one; one sentence says why.

    `field` is what has to be said differently: `at`, `zone` or `which`. Where a time comes twice
    `choices` are the two moments.
    """

    def __init__(self, field: str, sentence: str, choices: Sequence[Moment] = ()) -> None:
        super().__init__(sentence)
        self.field = field
        self.sentence = sentence
        self.choices = tuple(choices)


# --- Reading --------------------------------------------------------------------------------------


def read_moment(local: str, zone: str, which: str = "", *, now: datetime | None) -> Moment:
    """
    The moment that is meant by `local`, such as 2026-10-25T07:30, in `zone`.

    `which`, first or second, is asked for where the time comes twice, and not looked at elsewhere.
    With `now` it has to lie ahead, by a year at most; None where it was judged before, because
    something stands under its key already. Raises `InvalidMomentError`.
    """
    there = _zone(zone)
    said = _said(local)
    if now is not None and not now.year - 1 <= said.year <= now.year + 2:
        # Nothing below can be reckoned at the ends of the calendar.
        raise InvalidMomentError(
            "at", _past(said, zone, now) if said.year < now.year else _too_far(said, zone)
        )
    moment = _the_one_of(said, zone, there, which)
    if now is not None:
        refusal = moment_refusal(moment, now)
        if refusal:
            raise InvalidMomentError("at", refusal)
    return moment


def moment_refusal(moment: Moment, now: datetime) -> str:
    """Why nothing can be scheduled for this moment, in one sentence; empty if it can."""
    said = datetime.fromisoformat(moment.local)
    if moment.utc <= now:
        return _past(said, moment.zone, now)
    if moment.utc > now + FURTHEST:
        return _too_far(said, moment.zone)
    return ""


def moment_in_zone(utc: datetime, zone: str) -> Moment:
    """The moment as the clocks of a zone show it."""
    return Moment(utc.astimezone(UTC), f"{utc.astimezone(ZoneInfo(zone)):{LOCAL}}", zone)


def scheduled_moment(edition: Edition) -> Moment | None:
    """The moment that an edition was scheduled for, if it was, in the words of then."""
    if edition.scheduled_for is None:
        return None
    return Moment(edition.scheduled_for, edition.scheduled_local, edition.scheduled_zone)


def fold_choice(moment: Moment) -> Which:
    """Which of two it is, where its local time comes twice."""
    there = ZoneInfo(moment.zone)
    first, second = _both(datetime.fromisoformat(moment.local), there)
    if first == second:
        return ""
    return "first" if moment.utc == first else "second"


def _zone(name: str) -> ZoneInfo:
    if not name:
        raise InvalidMomentError(
            "zone", "No time zone is named; a name such as Europe/Lisbon is expected."
        )
    if name not in known_zones():
        raise InvalidMomentError(
            "zone",
            f"“{name[:64]}” is not a time zone; a name such as Europe/Lisbon is expected.",
        )
    return ZoneInfo(name)


def _said(local: str) -> datetime:
    if not local.strip():
        raise InvalidMomentError(
            "at", "No time is given; a date and a time such as 2026-10-25 07:30 are expected."
        )
    found = _LOCAL.fullmatch(local.strip())
    try:
        if found is None:
            raise ValueError
        return datetime.fromisoformat(f"{found[1]}T{found[2]}")
    except ValueError:
        raise InvalidMomentError(
            "at",
            f"“{local.strip()[:40]}” is not a time; a date and a time to the minute are expected, "
            "such as 2026-10-25 07:30.",
        ) from None


def _the_one_of(said: datetime, zone: str, there: ZoneInfo, which: str) -> Moment:
    try:
        first, second = _both(said, there)
    except OverflowError:
        raise InvalidMomentError(
            "at", "This is the end of the calendar; a date of our time is expected."
        ) from None
    local = f"{said:{LOCAL}}"
    if first.astimezone(there).replace(tzinfo=None) != said:
        raise InvalidMomentError("at", _never_comes(said, zone, there, second, first))
    if first == second:
        return Moment(first, local, zone)
    choices = Moment(first, local, zone), Moment(second, local, zone)
    if which == "first":
        return choices[0]
    if which == "second":
        return choices[1]
    raise InvalidMomentError("which", _comes_twice(said, zone, first, second), choices)


def _both(said: datetime, there: ZoneInfo) -> tuple[datetime, datetime]:
    """The moment by the clock of before a change, and by that of after it; mostly the same."""
    first, second = (said.replace(tzinfo=there, fold=fold).astimezone(UTC) for fold in (0, 1))
    return first, second


# --- Sentences ------------------------------------------------------------------------------------


def _past(said: datetime, zone: str, now: datetime) -> str:
    there = now.astimezone(ZoneInfo(zone))
    return (
        f"{day_and_time(said)} {zone} is past: it is {day_and_time(there)} there now; choose a "
        "later time, or publish now."
    )


def _too_far(said: datetime, zone: str) -> str:
    return (
        f"{day_and_time(said)} {zone} is more than a year ahead; an issue waits for a year at most."
    )


def _never_comes(
    said: datetime, zone: str, there: ZoneInfo, before: datetime, after: datetime
) -> str:
    """`before` and `after` are moments on either side of the change."""
    change = _change_between(before, after, there)
    begins = _by_the_clock_of_before(change, there)
    ends = change.astimezone(there).replace(tzinfo=None)
    last = begins - timedelta(minutes=1)
    if begins.date() == last.date() == ends.date():
        gap = f"from {begins:%H:%M} straight to {ends:%H:%M}"
        nearest = f"{last:%H:%M} and {ends:%H:%M}"
    else:
        gap = f"from {day_and_time(begins)} straight to {day_and_time(ends)}"
        nearest = f"{day_and_time(last)} and {day_and_time(ends)}"
    return (
        f"{day_and_time(said)} does not exist in {zone}: the clocks there go {gap}; the nearest "
        f"times are {nearest}."
    )


def _comes_twice(said: datetime, zone: str, first: datetime, second: datetime) -> str:
    same_day = first.date() == second.date()
    words = [f"{at:%H:%M}" if same_day else day_and_time(at) for at in (first, second)]
    return (
        f"{day_and_time(said)} comes twice in {zone}, because the clocks there go back: first at "
        f"{words[0]} UTC and again at {words[1]} UTC; choose which."
    )


# --- Late starts ----------------------------------------------------------------------------------


def lateness_words(at: datetime, started: datetime) -> str:
    """How late something started, such as “12 minutes”; empty within the first minute."""
    return late_duration((started - at).total_seconds())


def is_too_late(at: datetime, started: datetime, late_s: float) -> bool:
    """Whether a person has to look before it goes out."""
    return (started - at).total_seconds() > late_s


def late_pause_reason(moment: Moment, started: datetime) -> str:
    """Why an issue that started too late is paused, with both times."""
    return (
        f"It was to go out {moment.words}, and no worker had started it before "
        f"{moment_in_zone(started, moment.zone).words}. Resume it to send it now, or cancel it."
    )


def late_start_sentence(moment: Moment, started: datetime) -> str:
    """What a page says of an issue that started late, as a sentence; empty if it did not."""
    late = lateness_words(moment.utc, started)
    if not late:
        return ""
    return (
        f"It was to go out {moment.words} and started {late} late, because no worker had started "
        "it before."
    )


# --- Changes of the clocks ------------------------------------------------------------------------


def clock_change(moment: Moment, now: datetime) -> str:
    """
    “The clocks there change on 25 October.”, where they do before the moment or soon after it.

    Of several the last before the moment is named: by that one it is reckoned. Empty if none.
    """
    there = ZoneInfo(moment.zone)
    changes = list(_changes(now, moment.utc + NEAR, there))
    if not changes:
        return ""
    before = [change for change in changes if change <= moment.utc]
    on = _by_the_clock_of_before(before[-1] if before else changes[0], there)
    year = "" if on.year == now.astimezone(there).year else f" {on.year}"
    return f"The clocks there change on {on.day} {on:%B}{year}."


def _changes(start: datetime, end: datetime, there: ZoneInfo) -> list[datetime]:
    """When the clocks change after `start` and until `end`. They never do so twice in one day."""
    found = []
    since = start.astimezone(UTC)
    while since < end:
        until = min(since + timedelta(days=1), end.astimezone(UTC))
        if _offset(since, there) != _offset(until, there):
            found.append(_change_between(since, until, there))
        since = until
    return found


def _change_between(before: datetime, after: datetime, there: ZoneInfo) -> datetime:
    """The second at which the clocks change between two moments with different offsets."""
    as_before = _offset(before, there)
    while after - before > timedelta(seconds=1):
        # Whole seconds, so that this ends.
        middle = before + timedelta(seconds=int((after - before).total_seconds()) // 2)
        if _offset(middle, there) == as_before:
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)


def _by_the_clock_of_before(change: datetime, there: ZoneInfo) -> datetime:
    """What the clocks would show at a change if they did not change."""
    return (change + _offset(change - timedelta(seconds=1), there)).replace(tzinfo=None)


def _offset(at: datetime, there: ZoneInfo) -> timedelta:
    return at.astimezone(there).utcoffset() or timedelta()


# --- Zones ----------------------------------------------------------------------------------------


@cache
def known_zones() -> frozenset[str]:
    """Every zone that the database of zones knows, old spellings among them."""
    return frozenset(available_timezones() - NO_PLACES)


def zones(own: str, chosen: str = "") -> list[tuple[str, list[tuple[str, str]]]]:
    """
    The zones of a select, in groups: the newsletter's own and UTC, then by area.

    One that is `chosen` and known is among them, however old its spelling.
    """
    first = list(dict.fromkeys(zone for zone in (own, "UTC") if zone in known_zones()))
    places = sorted(zone for zone in known_zones() if zone.split("/")[0] in AREAS and "/" in zone)
    if chosen in known_zones() and chosen not in {*first, *places}:
        first.append(chosen)
    groups = [("The newsletter’s, and UTC", [(zone, zone) for zone in first])]
    for area, names in groupby(places, key=lambda zone: zone.split("/")[0]):
        groups.append((area, [(zone, zone.replace("_", " ")) for zone in names]))
    return groups
