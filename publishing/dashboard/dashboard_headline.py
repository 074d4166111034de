"""The state of the desk in one or two sentences: what needs you, what is being sent. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from delivery.humanise import counted


@dataclass(frozen=True, slots=True)
class Headline:
    """The headline in parts; `sending` and `held` are titles, `needs` counts what is to do."""

    needs: int = 0
    sending: Sequence[str] = ()
    held: Sequence[str] = ()
    scheduled: int = 0
    next_title: str = ""
    next_when: str = ""
    has_issues: bool = False
    drafts: int = 0
    sees_issues: bool = True


def headline_sentence(headline: Headline) -> str:
    """The whole headline."""
    needs = _needs(headline.needs)
    if not headline.sees_issues:
        return needs or "Nothing needs your attention."
    words = " ".join(filter(None, (needs, _held(headline), _sending(headline), _next(headline))))
    if words:
        is_quiet = not (headline.needs or headline.sending or headline.held)
        return f"Nothing needs your attention. {words}" if is_quiet else words
    drafts, are = counted(headline.drafts, "draft"), "is" if headline.drafts == 1 else "are"
    open_drafts = f" {drafts} {are} open." if headline.drafts else ""
    if headline.has_issues:
        return f"Nothing needs your attention, and nothing is being sent.{open_drafts}"
    return f"No issue was published yet.{open_drafts}" if headline.drafts else "No issue yet."


def _needs(number: int) -> str:
    need = "needs" if number == 1 else "need"
    return f"{counted(number, 'thing')} {need} your attention." if number else ""


def _held(headline: Headline) -> str:
    if len(headline.held) == 1:
        return f"“{headline.held[0]}” is held and can still be called back."
    return f"{len(headline.held):,} issues are held and can still be called back." * bool(
        headline.held
    )


def _sending(headline: Headline) -> str:
    if not headline.sending:
        return ""
    if len(headline.sending) > 1:
        return f"{len(headline.sending):,} issues are being sent and need nothing from you."
    title = "Another" if headline.held else f"“{headline.sending[0]}”"
    return f"{title} is being sent and needs nothing from you."


def _next(headline: Headline) -> str:
    following = f"“{headline.next_title}”"
    if headline.scheduled > 1:
        first = f"the next, {following}, goes out {headline.next_when}"
        return f"{headline.scheduled:,} issues are scheduled; {first}."
    return f"{following} goes out {headline.next_when}." if headline.scheduled else ""
