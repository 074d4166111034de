"""Write the headline of the desk: what needs attention, and what is being sent."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

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
    """Return the headline.

    `needs` is the number of things to do. `sending` and `held` are titles of issues. `scheduled`
    has titles and times; the issue that is due next is first.
    """
    todo = ""
    if needs:
        todo = counted("{n} thing needs your attention.", "{n} things need your attention.", needs)
    if not sees_issues:
        return todo or _("Nothing needs your attention.")
    sentences = [todo, _held(held), _sending(sending, held), _next(scheduled)]
    if any(sentences):
        if not (needs or sending or held):
            sentences = [_("Nothing needs your attention."), *sentences]
    elif has_issues:
        quiet = _("Nothing needs your attention, and nothing is being sent.")
        sentences = [quiet, _open_drafts(drafts)]
    elif drafts:
        sentences = [_("No issue has been published yet."), _open_drafts(drafts)]
    else:
        sentences = [_("No issue yet.")]
    return " ".join(filter(None, sentences))


def _held(titles: Sequence[str]) -> str:
    if not titles:
        return ""
    if len(titles) == 1:
        return _("“{title}” is held. You can still call it back.").format(title=titles[0])
    return counted(
        "{n} issue is held. You can still call it back.",
        "{n} issues are held. You can still call them back.",
        len(titles),
    )


def _sending(titles: Sequence[str], held: Sequence[str]) -> str:
    if not titles:
        return ""
    if len(titles) > 1:
        return counted(
            "{n} issue is being sent and needs nothing from you.",
            "{n} issues are being sent and need nothing from you.",
            len(titles),
        )
    if held:
        return _("Another issue is being sent and needs nothing from you.")
    return _("“{title}” is being sent and needs nothing from you.").format(title=titles[0])


def _next(scheduled: Sequence[tuple[str, str]]) -> str:
    if not scheduled:
        return ""
    title, when = scheduled[0]
    if len(scheduled) == 1:
        return _("“{title}” goes out on {time}.").format(title=title, time=when)
    return counted(
        "{n} issue is scheduled. The next one, “{title}”, goes out on {time}.",
        "{n} issues are scheduled. The next one, “{title}”, goes out on {time}.",
        len(scheduled),
        title=title,
        time=when,
    )


def _open_drafts(number: int) -> str:
    if not number:
        return ""
    return counted("{n} draft is open.", "{n} drafts are open.", number)
