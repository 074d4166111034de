"""The receipt of an edition: a page to print, the file, and whether a receipt is genuine."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from delivery.humanise import duration
from delivery.models import Edition, Newsletter
from delivery.rules.edition_state import EditionState
from publishing.content.edition_content import plain_title
from publishing.desk_access import desk_page, may_look
from publishing.editions.dropped_sentence import dropped_sentence
from publishing.editions.edition_from_url import edition_from_url
from publishing.editions.status import EditionStatus, NoSuchEditionError, load_edition, load_status
from publishing.progress.progress import GLYPHS, OUTCOME_TONES, TONES, counts_of
from publishing.progress.progress_sentences import sentence_of
from publishing.progress_bar import ORDER, label_of, parts_of
from publishing.receipts.receipt_text import LONGEST, NotAReceiptError, Signed, read, what_differs
from publishing.receipts.receipts import NoReceiptError, facts_today, receipt_of, signed_receipt
from subscribers.links.see_other import see_other

NOTES = {
    "sent": "each with Postmark’s message id",
    "unknown": "no proof had come, and nothing more was asked",
    "failed": "not sent; the reason stands with each reader",
    "suppressed": "may not be mailed: they bounced or complained before",
    "withdrawn": "it ended, or they left, before their copy; no mail was sent to them",
    "waiting": "",
}


@may_look
@require_safe
def receipt(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """The receipt to be read and printed. Where there is none, the issue's page says why."""
    edition = edition_from_url(request, issue)
    try:
        kept = receipt_of(edition)
    except NoReceiptError as error:
        messages.warning(request, str(error))
        back = reverse("desk:progress", args=[edition.issue_id])
        return see_other(f"{back}?version={edition.version}")
    status = load_status(edition.pk)
    given = signed_receipt(kept)
    facts = given.facts
    counts = {name: facts["counts"][name] for name in ORDER}
    today = counts_of(status.books)
    times = {name: _time(facts[name]) for name in TIMES}
    first, last = times["first_copy_at"], times["last_copy_at"]
    return desk_page(
        request,
        "publishing/receipt.html",
        {
            "edition": edition,
            "title": plain_title(edition),
            "status": status,
            "glyph": GLYPHS[status.state],
            "tone": TONES.get(status.state, ""),
            "sentence": sentence_of(status, Newsletter.objects.the_one().zone),
            "kept": kept,
            "facts": facts,
            "times": times,
            "ended_as": _ended_as(facts["state"], status),
            "took": _took(first, last),
            "bar": parts_of(counts),
            "label": label_of(counts, facts["counts"]["audience"]),
            "ledger": [
                (name, counts[name], OUTCOME_TONES[name], NOTES[name] if counts[name] else "")
                for name in ORDER
            ],
            "content": _in_groups(facts["content_sha256"]),
            "audience": _in_groups(facts["audience_sha256"]),
            "signature": _in_groups(given.signature),
            "is_genuine": given.is_genuine,
            "since": [
                (name, counts[name], today[name]) for name in ORDER if counts[name] != today[name]
            ],
            "books": status.books,
            "dropped": dropped_sentence(edition.copies_dropped_at),
        },
    )


@may_look
@require_safe
def receipt_json(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """The receipt as a file: what it says and the signature, as one JSON."""
    edition = edition_from_url(request, issue)
    try:
        kept = receipt_of(edition)
    except NoReceiptError as error:
        return HttpResponse(f"{error}\n", status=409, content_type="text/plain; charset=utf-8")
    file = HttpResponse(f"{signed_receipt(kept).as_json()}\n", content_type="application/json")
    name = f"{edition.issue.slug}-v{edition.version}-receipt.json"
    file.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    file.headers["Cache-Control"] = "no-store"
    return file


@may_look
@require_http_methods(["GET", "HEAD", "POST"])
def check_receipt(request: HttpRequest) -> HttpResponse:
    """Whether a receipt that somebody has is genuine, and how the books stand today beside it."""
    pasted = request.POST.get("receipt", "")
    facts: dict[str, Any] = {"pasted": pasted, "longest": LONGEST}
    if request.method == "POST":
        try:
            facts |= _checked(read(pasted))
        except NotAReceiptError as error:
            facts["error"] = str(error)
    return desk_page(request, "publishing/check_receipt.html", facts)


TIMES = ("published_at", "first_copy_at", "last_copy_at", "ended_at")


def _checked(given: Signed) -> dict[str, Any]:
    edition = _edition_named_in(given.facts)
    if edition is None:
        return {"checked": True, "is_genuine": given.is_genuine, "edition": None}
    today = facts_today(edition)
    if today is None:
        # It may have been said since the edition was read.
        edition.refresh_from_db(fields=["copies_dropped_at"])
    return {
        "checked": True,
        "is_genuine": given.is_genuine,
        "edition": edition,
        "title": plain_title(edition),
        "dropped": dropped_sentence(edition.copies_dropped_at),
        "differs": [] if today is None else what_differs(given.facts, today),
    }


def _edition_named_in(facts: Mapping[str, Any]) -> Edition | None:
    """The edition that a receipt speaks of, whatever it may say; None if there is none."""
    issue, version = facts.get("issue"), facts.get("version")
    if not isinstance(version, int) or not 0 < version < 2**31:
        return None
    try:
        return load_edition(uuid.UUID(str(issue)), version)
    except (ValueError, NoSuchEditionError):
        return None


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _took(first: datetime | None, last: datetime | None) -> str:
    """From the first copy to the last; empty where none went out."""
    if first is None or last is None:
        return ""
    seconds = int((last - first).total_seconds())
    return duration(seconds) if seconds else "less than a second"


def _ended_as(state: str, status: EditionStatus) -> str:
    """The state that the receipt names, in the words of every page."""
    return status.words if state == status.state else EditionState(state).words


def _in_groups(digest: str) -> str:
    """A hash as people compare it: eight signs at a time."""
    return " ".join(digest[at : at + 8] for at in range(0, len(digest), 8))
