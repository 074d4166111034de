"""The check sheet of a draft. External checks run after the page is shown."""

import math
import uuid
from dataclasses import replace
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import floatformat
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from delivery.humanise import kilobytes
from delivery.issue_attributes import IssueAttribute
from publishing.approval.approval_view import approval_context
from publishing.content.draft_content import build_content
from publishing.desk_access import desk_page, may_write, user_id_of
from publishing.desk_permissions import PUBLISH
from publishing.drafts import save_draft
from publishing.drafts.draft_form import first_error
from publishing.drafts.draft_pages import get_draft_or_404
from publishing.editions.archive_visibility import archive_sentence
from publishing.editions.audience import choice_words
from publishing.editions.find_edition import progress_url
from publishing.editions.issue_address import LONGEST_OLD_SLUG, choose_address, plan_address
from publishing.editions.versions import VersionRefusedError
from publishing.external_checks.check_letter import check_letter
from publishing.flash_messages import notes_of
from publishing.models import Draft, Visibility
from publishing.preflight.check_draft import PreflightResult, check, external_targets
from publishing.preflight.finding import Finding, FixIn, summarise
from publishing.preflight.parse_letter import ParsedLetter
from publishing.rehearsal.rehearse import current_rehearsal
from publishing.scheduling.schedule_form import ScheduleForm
from subscribers.links.see_other import see_other
from subscribers.reader_permissions import CHANGE_NEWSLETTER, MANAGE

# If readers may already know an issue's page, the author can only make the issue unlisted.
_BUTTONS = {
    Visibility.PUBLIC: gettext_lazy("Make it public"),
    Visibility.UNLISTED: gettext_lazy("Make it unlisted"),
    Visibility.NONE: gettext_lazy("Leave it out of the archive"),
}
# The number of examples that a finding shows. Further examples are counted, but not shown.
MAX_EXAMPLES = 5

CHANGED_MEANWHILE = gettext_lazy(
    "The draft was changed after you opened this page. Your choice was not saved. Choose again."
)


@may_write
@require_safe
def check_draft(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Show the check sheet with the known results of external checks."""
    found = get_draft_or_404(draft)
    if found.edition is not None:
        return see_other(progress_url(found.edition))
    return check_page(request, found)


@may_write
@require_POST
def run_external_checks(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Check the sender's domain and the links now, and show the sheet again."""
    found = get_draft_or_404(draft)
    if found.edition is not None:
        return see_other(progress_url(found.edition))
    html = build_content(found.fields).html
    check_letter(*external_targets(ParsedLetter(html)))
    return see_other(f"{reverse('desk:check', args=[found.pk])}#findings")


class ArchiveForm(forms.Form):
    """An author's choice about the archive, and the draft's revision for this choice."""

    choice = forms.ChoiceField(
        choices=[*Visibility.choices, ("note", "note"), ("no-note", "no-note")]
    )
    base = forms.IntegerField()


@may_write
@require_POST
def choose_archive(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Store the draft's choice about the archive, and show the check sheet again."""
    found, form = get_draft_or_404(draft), ArchiveForm(request.POST)
    if found.edition is not None:
        return see_other(progress_url(found.edition))
    if not form.is_valid():
        return check_page(request, found, refusal=first_error(form))
    choice, base = form.cleaned_data["choice"], form.cleaned_data["base"]
    if choice in Visibility.values:
        fields = replace(found.fields, archive=choice)
    else:
        fields = replace(found.fields, without_note=choice == "no-note")
    if fields == found.fields:
        return see_other(f"{reverse('desk:check', args=[found.pk])}#archive")
    if not save_draft.save(found.pk, base, fields, by=user_id_of(request)).is_saved:
        return check_page(request, get_draft_or_404(draft), refusal=str(CHANGED_MEANWHILE))
    return see_other(f"{reverse('desk:check', args=[found.pk])}#archive")


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def change_address(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Store the archive address that the author chose for a draft, and show the sheet.

    If the address is refused, the check sheet shows it again with the reason.
    """
    found = get_draft_or_404(draft)
    if request.method == "POST":
        try:
            chosen = choose_address(found, request.POST.get("address", ""))
        except (ValueError, VersionRefusedError) as error:
            found = get_draft_or_404(draft)
            if found.edition is None:
                typed = request.POST.get("address", "")
                return check_page(request, found, address_error=str(error), typed_address=typed)
            messages.warning(request, str(error))
        else:
            sentence = _("The address is now “{address}”.").format(address=chosen)
            automatic = _("The address follows the title again.")
            messages.success(request, sentence if chosen else automatic)
    return see_other(reverse("desk:check", args=[draft]))


def check_page(
    request: HttpRequest,
    draft: Draft,
    *,
    checked: PreflightResult | None = None,
    when: ScheduleForm | None = None,
    refusal: str = "",
    address_error: str = "",
    typed_address: str = "",
) -> HttpResponse:
    """Render the check sheet; `refusal` says why the last attempt published nothing.

    `address_error` says why the `typed_address` was refused.
    """
    checked = checked or check(draft, user_id_of(request))
    rows = {
        severity: [_finding_row(one, checked.draft, request) for one in found]
        for severity, found in checked.findings.items()
    }
    return desk_page(
        request,
        "publishing/preflight/check.html",
        {
            **rows,
            "summary": summarise(checked.findings),
            **publication_context(checked),
            **approval_context(request, draft, checked.context.content),
            "when": when or ScheduleForm(now=checked.context.now),
            "notes": notes_of(request),
            "refusal": refusal,
            "may_publish": request.user.has_perm(PUBLISH),
            "rehearsal": current_rehearsal(draft),
            "address": plan_address(draft, checked.context.content.plain_title),
            "address_error": address_error,
            "typed_address": typed_address,
            "longest_address": LONGEST_OLD_SLUG,
            "archive_url": settings.SITE_URL + reverse("archive:index"),
        },
    )


def schedule_hint(whom: str, *, is_mailed: bool) -> str:
    """Return a sentence about what happens at a scheduled time."""
    if is_mailed:
        sentence = _("At that time it goes to {whom}. Until then you can call it back.")
        return sentence.format(whom=whom)
    return _("At that time its page appears. Until then you can call it back.")


def _describe_hold(is_mailed: bool) -> str:
    """Return how long an edition is held, such as “20 seconds”; empty without a hold."""
    hold_s = settings.PUBLISH_HOLD_S
    if not is_mailed or not hold_s:
        return ""
    text = ngettext("{n} second", "{n} seconds", math.ceil(hold_s))
    return text.format(n=floatformat(hold_s))


def publication_context(checked: PreflightResult) -> dict[str, Any]:
    """Return the part of a template's context about the mail and its readers."""
    content, context = checked.context.content, checked.context
    is_mailed, choice = context.is_mailed, (checked.draft.goes_to, checked.tags)
    whom_later = choice_words(*choice, is_scheduled=True)
    return {
        "draft": checked.draft,
        "checked": checked,
        "whom": choice_words(*choice),
        "whom_later": whom_later,
        "schedule_hint": schedule_hint(whom_later, is_mailed=is_mailed),
        "title": content.plain_title,
        "sender": context.sender,
        "hold": _describe_hold(is_mailed),
        "kilobytes": kilobytes(context.mail.size),
        "digest": content.sha256.hex(),
        "archived": archive_sentence(checked.visibility),
        "visibilities": [
            (one, words)
            for one, words in _BUTTONS.items()
            if one != checked.visibility and (one is Visibility.UNLISTED or not checked.is_public)
        ],
    }


def _finding_row(finding: Finding, draft: Draft, request: HttpRequest) -> dict[str, Any]:
    """Return a finding with a link to where this user can fix it."""
    url, label = _fix_link(finding, draft, request)
    return {
        "finding": finding,
        "examples": finding.examples[:MAX_EXAMPLES],
        "more": max(0, len(finding.examples) - MAX_EXAMPLES),
        "url": url,
        "label": label,
    }


def _fix_link(finding: Finding, draft: Draft, request: HttpRequest) -> tuple[str, str]:
    composer = reverse("desk:draft", args=[draft.pk])
    if isinstance(finding.fix_in, IssueAttribute):
        return f"{composer}#id_{finding.fix_in.control}", str(finding.fix_in.fix)
    if finding.fix_in is FixIn.TEST:
        return composer, _("Send a test from the letter")
    user = request.user
    if finding.fix_in is FixIn.NEWSLETTER and user.has_perm(CHANGE_NEWSLETTER):
        return reverse("desk:newsletter_settings"), _("Change the settings")
    if finding.fix_in is FixIn.SENDER and user.has_perm(CHANGE_NEWSLETTER):
        return reverse("desk:sender"), _("Choose the sender")
    if finding.fix_in is FixIn.READERS and user.has_perm(MANAGE):
        return reverse("readers:list"), _("View readers")
    issue = finding.issue or draft.issue_id
    if finding.fix_in is FixIn.PROGRESS and issue:
        return reverse("desk:progress", args=[issue]), _("View status")
    return "", ""
