"""Sentences about a move: why a file was refused, and what became of its issues."""

from collections.abc import Mapping

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from delivery.humanise import Count
from publishing.models import IssueMove

TITLES_SHOWN = 50

_REFUSALS: Mapping[str, Promise] = {
    "needs_approval": gettext_lazy(
        "This newsletter requires a second person's approval, and moved-in issues appear without "
        "one. Ask your administrator to turn approval off while you move."
    ),
    "already_running": gettext_lazy("Another export is being moved in. Wait until it has ended."),
    "site_invalid": gettext_lazy("Write your site's address like this: https://news.example.org."),
    "site_missing": gettext_lazy(
        "This is an export of Ghost. Upload it again together with your site's address, because "
        "its images are there."
    ),
    "empty": gettext_lazy("This export has no issues."),
    "too_many": gettext_lazy(
        "This export has more than 20,000 issues, or titles of more than 8,000,000 characters "
        "together. Split it."
    ),
    "long_row": gettext_lazy(
        "A row in the list of issues has more than {detail} characters. A quotation mark may be "
        "missing. Export again."
    ),
    "list_costly": gettext_lazy(
        "Homing needs too much memory or time to read this file. Export again, with fewer issues."
    ),
    "too_costly": gettext_lazy(
        "Homing stopped at issue {detail}, because it needs too much memory or time. The issues "
        "before it were moved in. Remove this issue from the export, and upload it again."
    ),
    "too_large": gettext_lazy(
        "This file is too large. The limits are {most} MB, and 64 MB for JSON."
    ),
    "other_format": gettext_lazy(
        "This export is incomplete, or another version of Homing wrote it. Update both sites, "
        "and export again."
    ),
    "unknown": gettext_lazy(
        "Homing does not recognise this file. Upload the ZIP file of Substack, Buttondown or "
        "Homing, or the JSON file of Ghost."
    ),
}


def refusal_sentence(code: str, detail: str = "") -> str:
    """Say why a file was refused."""
    sentence = _REFUSALS.get(code)
    if sentence is None:
        return detail  # `detail` is already a sentence about the ZIP file
    return str(sentence).format(most=settings.IMPORT_MAX_MB, detail=detail)


def error_sentence(move: IssueMove) -> str:
    """Say why a move was refused; empty if the move was not refused."""
    return refusal_sentence(move.error["code"], **move.error["parameters"]) if move.error else ""


# The sentences about the results of a move, in the order of the report.
_RESULTS = {
    "moved": ngettext_lazy("{n} issue was moved in.", "{n} issues were moved in.", "n"),
    "known": ngettext_lazy(
        "{n} issue had been moved in before.", "{n} issues had been moved in before.", "n"
    ),
    "not_public": ngettext_lazy(
        "{n} issue was left out because it was not public: for paying readers, for some "
        "readers, or only mailed.",
        "{n} issues were left out because they were not public: for paying readers, for some "
        "readers, or only mailed.",
        "n",
    ),
    "draft": ngettext_lazy(
        "{n} draft or scheduled issue was left out.",
        "{n} drafts and scheduled issues were left out.",
        "n",
    ),
    "not_an_issue": ngettext_lazy(
        "{n} page or thread was left out.", "{n} pages and threads were left out.", "n"
    ),
    "no_letter": ngettext_lazy(
        "{n} issue was left out because the export has no text of it.",
        "{n} issues were left out because the export has no text of them.",
        "n",
    ),
    "no_date": ngettext_lazy(
        "{n} issue was left out because it has no date.",
        "{n} issues were left out because they have no date.",
        "n",
    ),
    "too_long": ngettext_lazy(
        "{n} issue was left out because it is too long.",
        "{n} issues were left out because they are too long.",
        "n",
    ),
    "unreadable": ngettext_lazy(
        "{n} issue was left out because its file in the ZIP is damaged or too large.",
        "{n} issues were left out because their files in the ZIP are damaged or too large.",
        "n",
    ),
    "picture_kept": ngettext_lazy(
        "{n} image could not be copied. It keeps its old address and may vanish there.",
        "{n} images could not be copied. They keep their old addresses and may vanish there.",
        "n",
    ),
    "player_left_out": ngettext_lazy(
        "{n} issue had an embedded player, which was left out.",
        "{n} issues had embedded players, which were left out.",
        "n",
    ),
    "other_address": ngettext_lazy(
        "{n} issue has another address, because its old one is taken or not valid here.",
        "{n} issues have other addresses, because their old ones are taken or not valid here.",
        "n",
    ),
}


def report_lines(move: IssueMove) -> list[tuple[str, str, list[str]]]:
    """Return for each result: its code, a sentence, and titles of its first issues."""
    return [
        (
            code,
            sentence.format(n=Count(move.counts[code])),
            [_line(title, detail) for found, title, detail in move.notes if found == code][
                :TITLES_SHOWN
            ],
        )
        for code, sentence in _RESULTS.items()
        if move.counts.get(code)
    ]


def _line(title: str, detail: str) -> str:
    title = title or _("Untitled")
    return f"{title}: {detail}" if detail else title
