"""The state of the desk in one or two sentences: what needs you, what is being sent. Pure."""

from collections.abc import Sequence

from delivery.humanise import counted


def headline_sentence(
    *,
    needs: int = 0,
    sending: Sequence[str] = (),
    held: Sequence[str] = (),
    scheduled: int = 0,
    next_title: str = "",
    next_when: str = "",
    has_issues: bool = False,
    drafts: int = 0,
    sees_issues: bool = True,
) -> str:
    """The whole headline; `sending` and `held` are titles, `needs` counts what is to do."""
    need = f"{counted(needs, 'thing')} {'needs' if needs == 1 else 'need'} your attention."
    todo = need if needs else ""
    if not sees_issues:
        return todo or "Nothing needs your attention."
    following = _next(scheduled, f"“{next_title}”", next_when)
    words = " ".join(filter(None, (todo, _held(held), _sending(sending, held), following)))
    if words:
        is_quiet = not (needs or sending or held)
        return f"Nothing needs your attention. {words}" if is_quiet else words
    are_open = f" {counted(drafts, 'draft')} {'is' if drafts == 1 else 'are'} open."
    open_drafts = are_open if drafts else ""
    if has_issues:
        return f"Nothing needs your attention, and nothing is being sent.{open_drafts}"
    return f"No issue was published yet.{open_drafts}" if drafts else "No issue yet."


def _held(titles: Sequence[str]) -> str:
    if not titles:
        return ""
    these = f"“{titles[0]}” is" if len(titles) == 1 else f"{len(titles):,} issues are"
    return f"{these} held and can still be called back."


def _sending(titles: Sequence[str], held: Sequence[str]) -> str:
    if not titles:
        return ""
    if len(titles) > 1:
        return f"{len(titles):,} issues are being sent and need nothing from you."
    title = "Another" if held else f"“{titles[0]}”"
    return f"{title} is being sent and needs nothing from you."


def _next(scheduled: int, title: str, when: str) -> str:
    if scheduled > 1:
        return f"{scheduled:,} issues are scheduled; the next, {title}, goes out {when}."
    return f"{title} goes out {when}." if scheduled else ""
