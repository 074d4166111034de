"""The approval of a draft: its section on the check sheet, and the button's view."""

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from publishing.approval.approval_rules import Verdict, judge
from publishing.approval.record_approval import (
    CannotApproveError,
    approval_hash,
    approval_refusal,
    approve,
    approver_of,
    current_rule,
    needs_approval,
)
from publishing.content.edition_content import Content
from publishing.desk_access import may_publish, user_id_of
from publishing.desk_permissions import PUBLISH
from publishing.drafts.draft_form import SHA256_HEX
from publishing.models import Draft
from subscribers.links.see_other import see_other


def approval_context(request: HttpRequest, draft: Draft, content: Content) -> dict[str, Any]:
    """Return the context of `preflight/approval.html`.

    `content` is the content of the draft.
    """
    if not needs_approval():
        return {"takes_two": False}
    author = user_id_of(request)
    return {
        "takes_two": True,
        "is_approved": approver_of(draft, content),
        "approval_is_mine": draft.approved_by_id == author,
        "awaits": approval_refusal(draft, author, content),
        "may_approve": request.user.has_perm(PUBLISH),
        "seen": approval_hash(draft, content).hex(),
        "draft": draft,
    }


class ApproveForm(forms.Form):
    """The posted form, with the hash of the draft that the approver saw."""

    seen = forms.RegexField(SHA256_HEX, required=False)


@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def approve_draft(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """On POST, approve the draft if its hash is unchanged; return to the check sheet."""
    if not Draft.objects.filter(pk=draft).exists():
        raise Http404(_("There is no such draft."))
    if request.method == "POST":
        form = ApproveForm(request.POST)
        form.full_clean()
        try:
            # A hash that cannot be read matches no draft.
            seen = bytes.fromhex(form.cleaned_data.get("seen", ""))
            approve(draft, user_id_of(request), seen)
        except CannotApproveError as error:
            messages.warning(request, str(error))
        else:
            by, writer = user_id_of(request), Draft.objects.get(pk=draft).saved_by_id
            verdict = judge(current_rule(), publisher=by, approver=by, writer=writer)
            other = _("Approved. Another author may publish this version.")
            either = _("Approved. You or another author may publish this version.")
            messages.success(request, either if verdict is Verdict.ALLOWED else other)
    return see_other(reverse("desk:check", args=[draft]))
