"""Before it goes out: the sheet of a draft, and the looks outside that it need not wait for."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from delivery.humanise import kilobytes
from delivery.mail.compose import MailParts
from delivery.models import Edition, Newsletter
from delivery.rules.edition_counts import AUDIENCE_WORDS
from publishing.approval.approval_view import approval_facts
from publishing.content.draft_content import build_content
from publishing.desk_access import PUBLISH, author_of, desk_page, may_write
from publishing.drafts import drafts
from publishing.external_checks.check_letter import as_it_runs, look
from publishing.flash_messages import notes_of
from publishing.models import Draft
from publishing.preflight.collect import Checked, check, outside_of
from publishing.preflight.finding_links import rows_of
from publishing.preflight.parse_letter import read_letter
from publishing.scheduling.schedule_form import ScheduleForm
from publishing.script_request import wants_json
from subscribers.links.see_other import see_other


@may_write
@require_safe
def check_draft(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """The sheet, with what is known by now of what is outside."""
    found = draft_at(draft)
    if found.edition is not None:
        return see_other(progress_of(found.edition))
    return check_page(request, found)


@may_write
@require_POST
def look_outside(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Look at the sender's domain and the links now; a script gets the findings anew."""
    found = draft_at(draft)
    if found.edition is not None:
        return see_other(progress_of(found.edition))
    letter = read_letter(build_content(drafts.content_of_draft(found)).html)
    look(*outside_of(letter), *as_it_runs())
    if not wants_json(request):
        return see_other(f"{reverse('desk:check', args=[found.pk])}#findings")
    checked = check(found, author_of(request))
    facts = findings_facts(request, checked)
    return JsonResponse(
        {
            "sentence": checked.findings.sentence,
            "html": render_to_string("publishing/findings.html", facts, request),
        },
        headers={"Cache-Control": "no-store"},
    )


def check_page(
    request: HttpRequest,
    draft: Draft,
    *,
    checked: Checked | None = None,
    when: ScheduleForm | None = None,
    refusal: str = "",
) -> HttpResponse:
    """The sheet of a draft; `refusal` says why nothing was published just now."""
    checked = checked or check(draft, author_of(request))
    newsletter = Newsletter.objects.the_one()
    return desk_page(
        request,
        "publishing/check.html",
        {
            **findings_facts(request, checked),
            **what_goes_out(checked),
            **approval_facts(request, draft, checked.content),
            "when": when or ScheduleForm(own_zone=newsletter.time_zone, now=checked.facts.now),
            "notes": notes_of(request),
            "refusal": refusal,
            "may_publish": request.user.has_perm(PUBLISH),
        },
    )


def findings_facts(request: HttpRequest, checked: Checked) -> dict[str, Any]:
    """What `publishing/findings.html` shows."""
    draft, found = checked.draft, checked.findings
    return {
        "draft": draft,
        "checked": checked,
        "stops": rows_of(found.stops, draft, request),
        "advice": rows_of(found.advice, draft, request),
        "not_known": rows_of(found.not_known, draft, request),
        "in_order": found.in_order,
    }


def what_then(whom: str, *, is_mailed: bool) -> str:
    """Say what happens at a scheduled time."""
    then = f"It goes to {whom} by then" if is_mailed else "It appears in the archive then"
    return f"{then}, and can be called back until then."


def what_goes_out(checked: Checked) -> dict[str, Any]:
    """The facts about the mail and its readers, for the sheet and for the question after it."""
    content, facts = checked.content, checked.facts
    digest = content.sha256.hex()
    whom, is_mailed = AUDIENCE_WORDS[checked.draft.goes_to], facts.is_mailed
    return {
        "draft": checked.draft,
        "checked": checked,
        "whom": whom,
        "what_then": what_then(whom, is_mailed=is_mailed),
        "title": content.plain_title,
        "sender": settings.FROM_EMAIL,
        "hold_s": settings.PUBLISH_HOLD_S if is_mailed else 0,
        "kilobytes": kilobytes(MailParts(facts.html_mail, facts.text_mail).size),
        "digest": digest,
        "digest_shown": f"{digest[:8]} {digest[8:16]}…",
        "issue_title": checked.place.newest.title if checked.place else "",
    }


def draft_at(draft: uuid.UUID) -> Draft:
    """The draft that an address names. Raises `Http404`."""
    found = drafts.load_draft(draft)
    if found is None:
        raise Http404("There is no such draft. It was thrown away, or never saved.")
    return found


def progress_of(edition: Edition) -> str:
    """The progress page of an edition; its version is named from the second on."""
    address = reverse("desk:progress", args=[edition.issue_id])
    return f"{address}?version={edition.version}" if edition.version > 1 else address
