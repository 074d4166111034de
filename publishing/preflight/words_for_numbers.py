"""How a sentence says how many. Pure."""

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


def ordinal(number: int) -> str:
    """Second, tenth, 11th."""
    if 1 <= number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    tens = 10 <= number % 100 <= 20
    return f"{number}{'th' if tens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def enumerated(things: list[str]) -> str:
    """A, b and c."""
    return things[0] if len(things) == 1 else f"{', '.join(things[:-1])} and {things[-1]}"
