"""How every page, mail and command writes numbers, times and durations. Pure."""

from datetime import datetime, tzinfo

from django.utils.formats import number_format

_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)


def digits(number: int) -> str:
    """Write a number with the separators of the active language: 52,418."""
    return number_format(number, force_grouping=True)


def so_many(number: int, one: str, many: str = "") -> str:
    """One link, Three links, 12 links: at the head of a sentence."""
    word = _WORDS[number] if number < len(_WORDS) else f"{number:,}"
    return f"{word} {one if number == 1 else many or f'{one}s'}"


def counted(number: int, one: str, many: str = "") -> str:
    """1 link, 3 links, 52,418 links: within a sentence."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def counted_readers(number: int) -> str:
    """1 reader, 3 readers."""
    return counted(number, "reader")


def counted_copies(number: int) -> str:
    """1 copy, 3 copies."""
    return counted(number, "copy", "copies")


def duration(seconds: float) -> str:
    """1 second, 40 minutes, 3 hours, 2 days."""
    for unit, length, below in (("second", 1, 90), ("minute", 60, 90), ("hour", 3600, 48)):
        if seconds < below * length:
            return counted(round(seconds / length), unit)
    return counted(round(seconds / 86_400), "day")


def late_duration(late_s: float) -> str:
    """How late something started, such as 12 minutes; empty within the first minute."""
    return duration(late_s) if late_s >= 60 else ""


def clock(at: datetime, zone: tzinfo) -> str:
    """A time of the day in a zone, to the second: 07:30:12."""
    return f"{at.astimezone(zone):%H:%M:%S}"


def clock_and_day(at: datetime, now: datetime, zone: tzinfo) -> str:
    """07:30:12; on another day than now: 07:30:12 on Thu 24 Sep 2026."""
    there = at.astimezone(zone)
    if there.date() == now.astimezone(zone).date():
        return f"{there:%H:%M:%S}"
    return f"{there:%H:%M:%S} on {there:%a} {there.day} {there:%b %Y}"


def ordinal(number: int) -> str:
    """Second, tenth, 11th."""
    if 1 <= number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    tens = 10 <= number % 100 <= 20
    return f"{number}{'th' if tens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def enumerated(things: list[str]) -> str:
    """A, b and c."""
    return things[0] if len(things) == 1 else f"{', '.join(things[:-1])} and {things[-1]}"


KB = 1024


def kilobytes(size: int) -> int:
    """As it is said: never less than there is."""
    return -(-size // KB)
