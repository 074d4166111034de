"""Parse the local time of a scheduled issue.

A local time that occurs twice is refused, unless the author chose one of the two moments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

from delivery.humanise import late_duration
from delivery.rules.scheduled_time import LOCAL, ScheduledTime, day_and_time
from publishing.scheduling.find_zone import UnknownZoneError, find_zone

if TYPE_CHECKING:
    from delivery.models import Edition

FURTHEST = timedelta(days=366)

_LOCAL = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2})(?::00(?:\.0{1,6})?)?")

Which = Literal["", "first", "second"]


class InvalidTimeError(ValueError):
    """A local time that is invalid, or occurs twice.

    `field` names the form field with the error. `choices` has the two times, if the local time
    occurs twice.
    """

    def __init__(self, field: str, sentence: str, choices: Sequence[ScheduledTime] = ()) -> None:
        super().__init__(sentence)
        self.field = field
        self.sentence = sentence
        self.choices = tuple(choices)


def parse_scheduled_time(
    local: str, zone: str, which: str = "", *, now: datetime | None
) -> ScheduledTime:
    """Return the moment that `local` means in `zone`; it must be later than `now`.

    `zone` may also be the name of a city. Raises `InvalidTimeError`.
    """
    try:
        zone = find_zone(zone)
    except UnknownZoneError as error:
        raise InvalidTimeError("zone", str(error)) from None
    there = ZoneInfo(zone)
    entered = _parse_local(local)
    if now is not None and not now.year - 1 <= entered.year <= now.year + 2:
        # Refuse years far away, because the calculations below fail near year 1 and year 9999.
        raise InvalidTimeError(
            "at", _past(entered, zone, now) if entered.year < now.year else _too_far(entered, zone)
        )
    moment = _choose_time(entered, zone, there, which)
    if now is not None:
        if moment.utc <= now:
            raise InvalidTimeError("at", _past(entered, zone, now))
        if moment.utc > now + FURTHEST:
            raise InvalidTimeError("at", _too_far(entered, zone))
    return moment


def scheduled_time_of(edition: Edition) -> ScheduledTime | None:
    """Return the scheduled time of an edition, in the zone in which it was entered."""
    if edition.scheduled_for is None:
        return None
    return ScheduledTime(edition.scheduled_for, edition.scheduled_local, edition.scheduled_zone)


def scheduled_for(edition: Edition | None) -> str:
    """Return the time that an edition was scheduled for.

    The result is empty if the edition was not scheduled.
    """
    moment = scheduled_time_of(edition) if edition else None
    return moment.words if moment else ""


def choices_of(moment: ScheduledTime) -> tuple[ScheduledTime, ...]:
    """Return both times if the local time occurs twice, otherwise nothing."""
    local, zone = moment.local, moment.zone
    first, second = _both(datetime.fromisoformat(local), ZoneInfo(zone))
    if first == second:
        return ()
    return ScheduledTime(first, local, zone), ScheduledTime(second, local, zone)


def fold_choice(moment: ScheduledTime) -> Which:
    """Return `first` or `second` if the local time occurs twice, otherwise empty."""
    names: tuple[Which, ...] = ("first", "second")
    return dict(zip(choices_of(moment), names, strict=False)).get(moment, "")


def _parse_local(local: str) -> datetime:
    if not local.strip():
        raise InvalidTimeError(
            "at", _("The time is missing. Enter a date and a time such as 2026-10-25 07:30.")
        )
    found = _LOCAL.fullmatch(local.strip())
    try:
        if found is None:
            raise ValueError
        return datetime.fromisoformat(f"{found[1]}T{found[2]}")
    except ValueError:
        raise InvalidTimeError(
            "at",
            _(
                "“{text}” is not a time. Enter a date and a time to the minute such as "
                "2026-10-25 07:30."
            ).format(text=local.strip()[:40]),
        ) from None


def _choose_time(entered: datetime, zone: str, there: ZoneInfo, which: str) -> ScheduledTime:
    try:
        first, second = _both(entered, there)
    except OverflowError:
        raise InvalidTimeError(
            "at", _("This date is outside the calendar. Enter a date within the next year.")
        ) from None
    local = f"{entered:{LOCAL}}"
    if first.astimezone(there).replace(tzinfo=None) != entered:
        earlier, later = second.astimezone(there), first.astimezone(there)
        raise InvalidTimeError("at", _never_comes(entered, zone, earlier, later))
    if first == second:
        return ScheduledTime(first, local, zone)
    choices = ScheduledTime(first, local, zone), ScheduledTime(second, local, zone)
    if which == "first":
        return choices[0]
    if which == "second":
        return choices[1]
    raise InvalidTimeError("which", _comes_twice(entered, zone, first, second), choices)


def _both(entered: datetime, there: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the two moments that a local time can mean when the clocks change.

    The first moment uses the offset before the change, and the second the offset after it. Both
    moments are equal if the clocks do not change near this time.
    """
    first, second = (entered.replace(tzinfo=there, fold=fold).astimezone(UTC) for fold in (0, 1))
    return first, second


def _past(entered: datetime, zone: str, now: datetime) -> str:
    there = now.astimezone(ZoneInfo(zone))
    return _(
        "{time} {zone} is in the past: it is {now} there. Choose a later time, or publish now."
    ).format(time=day_and_time(entered), zone=zone, now=day_and_time(there))


def _too_far(entered: datetime, zone: str) -> str:
    return _("{time} {zone} is more than a year ahead. Choose an earlier time.").format(
        time=day_and_time(entered), zone=zone
    )


def _never_comes(entered: datetime, zone: str, earlier: datetime, later: datetime) -> str:
    return _(
        "{time} does not exist in {zone}, because the clocks there go forward. Choose {earlier} or "
        "{later}."
    ).format(
        time=day_and_time(entered),
        zone=zone,
        earlier=day_and_time(earlier),
        later=day_and_time(later),
    )


def _comes_twice(entered: datetime, zone: str, first: datetime, second: datetime) -> str:
    same_day = first.date() == second.date()
    times = [f"{at:%H:%M}" if same_day else day_and_time(at) for at in (first, second)]
    return _(
        "{time} occurs twice in {zone}, because the clocks there go back: at {first} UTC and at "
        "{second} UTC. Choose which one."
    ).format(time=day_and_time(entered), zone=zone, first=times[0], second=times[1])


def late_start_sentence(moment: ScheduledTime, started: datetime) -> str:
    """Return a sentence about an issue that started late; empty if it started on time."""
    late = late_duration((started - moment.utc).total_seconds())
    if not late:
        return ""
    return _(
        "It was scheduled for {moment} and started {late} late, because no worker was running."
    ).format(moment=moment.words, late=late)
