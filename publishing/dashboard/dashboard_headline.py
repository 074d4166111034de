"""The state of the desk in one or two sentences: what needs you, what is being sent. Pure."""

from collections.abc import Sequence

from delivery.humanise import counted


def headline_sentence(
    *,
    needs: int = 0,
    sending: Sequence[str] = (),
    held: Sequence[str] = (),
    scheduled: Sequence[tuple[str, str]] = (),
    has_issues: bool = False,
    drafts: int = 0,
    sees_issues: bool = True,
) -> str:
    """
    The whole headline: `needs` counts what is to do; `sending` and `held` are titles; `scheduled`
    are titles and times, the next first.
    """
    need = f"{counted(needs, 'thing')} {'needs' if needs == 1 else 'need'} your attention."
    todo = need if needs else ""
    if not sees_issues:
        return todo or "Nothing needs your attention."
    parts = (todo, _held(held), _sending(sending, held), _next(scheduled))
    words = " ".join(filter(None, parts))
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


def _next(scheduled: Sequence[tuple[str, str]]) -> str:
    if not scheduled:
        return ""
    (title, when), count = scheduled[0], len(scheduled)
    which = f"{count:,} issues are scheduled; the next, “{title}”," if count > 1 else f"“{title}”"
    return f"{which} goes out {when}."
