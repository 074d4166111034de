"""How the desk stands, in one or two sentences: what asks for somebody, what goes out. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Standing:
    """
    What there is. `needs` are what asks for a person, `going` the titles of what goes out by
    itself, `held` those that can still be called back; `next_title` is scheduled first, for
    `next_when`. `issues` and `drafts` are how many there are of each, of any kind; `sees_issues`
    is whether this viewer may know of them.
    """

    needs: int = 0
    going: Sequence[str] = ()
    held: Sequence[str] = ()
    scheduled: int = 0
    next_title: str = ""
    next_when: str = ""
    issues: int = 0
    drafts: int = 0
    sees_issues: bool = True


def sentence_of(standing: Standing) -> str:
    """How things stand."""
    if not standing.sees_issues:
        return _needs(standing.needs) or "Nothing asks for you."
    said = [_needs(standing.needs), _held(standing), _going(standing), _scheduled(standing)]
    words = " ".join(filter(None, said))
    if words and (standing.needs or standing.going or standing.held):
        return words
    if words:
        return f"Nothing asks for you. {words}"
    if standing.issues:
        return f"Nothing asks for you, and nothing is going out.{_drafts(standing)}"
    if standing.drafts:
        return f"No issue was published yet.{_drafts(standing)}"
    return "No issue yet."


def _needs(needs: int) -> str:
    if not needs:
        return ""
    return "One thing asks for you." if needs == 1 else f"{_number(needs)} things ask for you."


def _held(standing: Standing) -> str:
    match len(standing.held):
        case 0:
            return ""
        case 1:
            return f"“{standing.held[0]}” is held and can still be called back."
        case several:
            return f"{_number(several)} issues are held and can still be called back."


def _going(standing: Standing) -> str:
    another = "Another" if standing.held else ""
    match len(standing.going):
        case 0:
            return ""
        case 1:
            one = another or f"“{standing.going[0]}”"
            return f"{one} is going out and needs nothing from you."
        case several:
            return f"{_number(several)} issues are going out and need nothing from you."


def _scheduled(standing: Standing) -> str:
    match standing.scheduled:
        case 0:
            return ""
        case 1:
            return f"“{standing.next_title}” goes out {standing.next_when}."
        case several:
            return (
                f"{_number(several)} issues are scheduled; the next, “{standing.next_title}”, goes "
                f"out {standing.next_when}."
            )


def _drafts(standing: Standing) -> str:
    if not standing.drafts:
        return ""
    return (
        " One draft is open."
        if standing.drafts == 1
        else (f" {_number(standing.drafts)} drafts are open.")
    )


def _number(number: int) -> str:
    """Few as a word that begins a sentence, many as figures."""
    return _NUMBERS[number].capitalize() if number < len(_NUMBERS) else f"{number:,}"
