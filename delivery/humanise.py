"""How a sentence says how many, and how long. Pure."""

from __future__ import annotations

_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)


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


def span_of(seconds: int) -> str:
    """So long, as people say it: 1 second, 40 minutes."""
    if seconds < 90:
        return counted(seconds, "second")
    if seconds < 90 * 60:
        return counted(round(seconds / 60), "minute")
    return counted(round(seconds / 3600), "hour")


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
