"""Show, download and verify the receipt of an edition."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from delivery.humanise import duration
from delivery.interface import provider_name
from delivery.models import Edition, Newsletter
from delivery.reports.edition_sentences import STATE_WORDS
from delivery.rules.edition_state import EditionState
from publishing.content.edition_content import plain_title
from publishing.desk_access import desk_page, may_look
from publishing.editions.edition_status import (
    NoSuchEditionError,
    dropped_sentence,
    load_edition,
    load_status,
)
from publishing.editions.find_edition import edition_from_url, progress_url
from publishing.models import Receipt
from publishing.progress.edition_progress import LOOKS, OUTCOME_TONES, counts_of
from publishing.progress.progress_sentences import sentence_of
from publishing.progress_bar import ORDER, label_of, outcome_label, parts_of
from publishing.receipts.make_receipt import (
    LONGEST,
    NoReceiptError,
    NotAReceiptError,
    diff_receipts,
    fields_of,
    is_genuine,
    parse_receipt,
    receipt_as_json,
    receipt_of,
    receipt_today,
)
from subscribers.links.see_other import see_other

NOTES = {
    "sent": gettext_lazy("each with {provider}’s message id"),
    "unknown": gettext_lazy("no proof came, and no more look-ups were made"),
    "failed": gettext_lazy("not sent; each reader’s page gives the reason"),
    "suppressed": gettext_lazy("must not be mailed because of a bounce, a complaint or a block"),
    "withdrawn": gettext_lazy("stopped or unsubscribed before sending"),
    "waiting": "",
}
FIELDS = {
    "format": gettext_lazy("Format"),
    "issue": gettext_lazy("Issue"),
    "version": gettext_lazy("Version"),
    "title": gettext_lazy("Title"),
    "state": gettext_lazy("State"),
    "with_tags": gettext_lazy("Only readers with any of these tags"),
    "without_tags": gettext_lazy("No readers with any of these tags"),
    "content_sha256": gettext_lazy("Content (SHA-256)"),
    "audience_sha256": gettext_lazy("Audience (SHA-256)"),
    "audience": gettext_lazy("Audience"),
    "message_ids": gettext_lazy("Message IDs"),
    "published_at": gettext_lazy("Published at"),
    "first_copy_at": gettext_lazy("First copy at"),
    "last_copy_at": gettext_lazy("Last copy at"),
    "ended_at": gettext_lazy("Ended at"),
    "published_by": gettext_lazy("Published by"),
    "approved_by": gettext_lazy("Approved by"),
    "written_by": gettext_lazy("Written by"),
}
TIMES = ("published_at", "first_copy_at", "last_copy_at", "ended_at")


@may_look
@require_safe
def receipt(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """Show the receipt; if there is none, redirect to the issue's page, with a reason."""
    edition = edition_from_url(request, issue)
    try:
        stored = receipt_of(edition)
    except NoReceiptError as error:
        messages.warning(request, str(error))
        return see_other(progress_url(edition))
    status = load_status(edition.pk)
    fields = fields_of(stored)
    # A newer release may have made the receipt with other fields, so any field may be missing.
    stored_counts = fields.get("counts", {})
    outcomes = {name: stored_counts.get(name, 0) for name in ORDER}
    today = counts_of(status.counts)
    times = {
        name: datetime.fromisoformat(at) if (at := fields.get(name)) else None for name in TIMES
    }
    state = fields.get("state", "")
    glyph, tone = LOOKS[status.state]
    notes = dict(NOTES)
    if status.counts.is_called_back:
        notes["withdrawn"] = _("called back before sending")
    notes = {
        name: str(note).format(provider=provider_name()) if outcomes[name] else ""
        for name, note in notes.items()
    }
    return desk_page(
        request,
        "publishing/receipts/receipt.html",
        {
            "edition": edition,
            "status": status,
            "glyph": glyph,
            "tone": tone,
            "sentence": sentence_of(status, Newsletter.objects.get_current().zone),
            "stored": stored,
            "fields": {"message_ids": 0, **fields},
            "outcomes": {"audience": sum(outcomes.values()), **outcomes},
            "times": times,
            "ended_as": status.words if state == status.state else _value_label("state", state),
            "took": _took(times["first_copy_at"], times["last_copy_at"]),
            "bar": parts_of(outcomes),
            "label": label_of(outcomes, sum(outcomes.values())),
            "ledger": [
                (outcome_label(name), name, OUTCOME_TONES[name], outcomes[name], notes[name])
                for name in ORDER
            ],
            "content": _in_groups(fields.get("content_sha256", "")),
            "audience": _in_groups(fields.get("audience_sha256", "")),
            "signature": _in_groups(stored.signature),
            "is_genuine": is_genuine(stored),
            "since": [
                (outcome_label(name), outcomes[name], today[name])
                for name in ORDER
                if outcomes[name] != today[name]
            ],
            "counts": status.counts,
            "dropped": dropped_sentence(edition.deliveries_dropped_at),
        },
    )


@may_look
@require_safe
def receipt_json(request: HttpRequest, issue: uuid.UUID) -> HttpResponse:
    """Download the receipt's fields and signature as one JSON file."""
    edition = edition_from_url(request, issue)
    try:
        stored = receipt_of(edition)
    except NoReceiptError as error:
        return HttpResponse(f"{error}\n", status=409, content_type="text/plain; charset=utf-8")
    name = f"{edition.issue.slug}-v{edition.version}-receipt.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return HttpResponse(
        f"{receipt_as_json(stored)}\n", content_type="application/json", headers=headers
    )


@may_look
@require_http_methods(["GET", "HEAD", "POST"])
def check_receipt(request: HttpRequest) -> HttpResponse:
    """Verify a pasted receipt and compare it with today's counts."""
    pasted = request.POST.get("receipt", "")
    context: dict[str, Any] = {"pasted": pasted, "longest": LONGEST}
    if request.method == "POST":
        try:
            context |= _check(parse_receipt(pasted))
        except NotAReceiptError as error:
            context["error"] = str(error)
    return desk_page(request, "publishing/receipts/check_receipt.html", context)


def _check(given: Receipt) -> dict[str, Any]:
    fields = fields_of(given)
    edition = _edition_named_in(fields)
    result = {"checked": True, "is_genuine": is_genuine(given), "edition": edition}
    if edition is None:
        return result
    today = receipt_today(edition)
    if today is None:
        # Read this column again, because the copies may have been dropped since the edition was
        # read.
        edition.refresh_from_db(fields=["deliveries_dropped_at"])
    return result | {
        "title": plain_title(edition),
        "dropped": dropped_sentence(edition.deliveries_dropped_at),
        "differs": [
            (_field_label(name), _value_label(name, then), _value_label(name, now))
            for name, then, now in ([] if today is None else diff_receipts(fields, today))
        ],
    }


def _field_label(name: str) -> str:
    """Return the label of a receipt's field, or the field's key if it has no label."""
    return str(FIELDS[name]) if name in FIELDS else outcome_label(name)


def _value_label(name: str, value: Any) -> Any:
    if name == "state" and isinstance(value, str):
        return str(STATE_WORDS[EditionState(value)]) if value in STATE_WORDS else value
    return value


def _edition_named_in(fields: Mapping[str, Any]) -> Edition | None:
    issue, version = fields.get("issue"), fields.get("version")
    if not isinstance(version, int) or not 0 < version < 2**31:
        return None
    try:
        return load_edition(uuid.UUID(str(issue)), version)
    except (ValueError, NoSuchEditionError):
        return None


def _took(first: datetime | None, last: datetime | None) -> str:
    if first is None or last is None:
        return ""
    seconds = int((last - first).total_seconds())
    return duration(seconds) if seconds else _("less than a second")


def _in_groups(digest: str) -> str:
    return " ".join(digest[at : at + 8] for at in range(0, len(digest), 8))
