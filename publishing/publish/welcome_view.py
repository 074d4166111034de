"""The page of the welcome letter: choose the draft that is sent, or send none."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from delivery.humanise import digits
from publishing.approval.record_approval import NeedsApprovalError, approver_of
from publishing.content.compose_content import edition_columns
from publishing.content.edition_content import find_problems, plain_title
from publishing.desk_access import desk_page, may_publish, user_id_of
from publishing.editions.archive_visibility import content_of
from publishing.editions.welcome_letter import welcome_letter
from publishing.models import Draft
from publishing.publish.switch_welcome_letter import (
    count_missed,
    count_sent,
    send_to_missed,
    turn_off,
    turn_on,
)
from subscribers.fields.own_fields import load_own_fields


class WelcomeForm(forms.Form):
    """The form that names the draft whose current text becomes the welcome letter."""

    draft = forms.ModelChoiceField(
        Draft.objects.filter(edition=None, issue=None).order_by("-saved_at", "-pk"),
        error_messages={
            "required": gettext_lazy("Choose a draft."),
            "invalid_choice": gettext_lazy("There is no such draft. It was deleted or published."),
        },
    )


@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def welcome_page(request: HttpRequest) -> HttpResponse:
    """Show the welcome letter; on POST replace it with a draft, or turn it off."""
    problem = ""
    if request.method == "POST":
        if "again" in request.POST:
            n = send_to_missed(user_id_of(request))
            again = ngettext("{n} copy is tried again.", "{n} copies are tried again.", n)
            messages.success(request, again.format(n=digits(n)))
        elif "off" in request.POST:
            turn_off(user_id_of(request))
            off = _("The welcome letter is off. Copies that were already queued are still sent.")
            messages.success(request, off)
        else:
            problem = _turn_on(request)
        if not problem:
            return redirect("desk:welcome")
    letter = welcome_letter()
    context = {
        "letter": letter,
        "title": plain_title(letter) if letter else "",
        "sent": count_sent(letter) if letter else 0,
        "missed": count_missed(letter) if letter else 0,
        "drafts": WelcomeForm().fields["draft"].queryset,  # type: ignore[attr-defined]
        "problem": problem,
    }
    return desk_page(
        request, "publishing/publish/welcome.html", context, status=422 if problem else 200
    )


def _turn_on(request: HttpRequest) -> str:
    """Turn on the letter of the posted draft; return the error, if there is one."""
    form = WelcomeForm(request.POST)
    if not form.is_valid():
        return " ".join(map(str, form.errors["draft"]))
    draft = form.cleaned_data["draft"]
    content = content_of(draft)
    if problems := find_problems(content, load_own_fields()):
        return " ".join(problem.sentence for problem in problems)
    try:
        columns = edition_columns(content)
        second = approver_of(draft, content, columns)
        turn_on(
            user_id_of(request),
            content,
            approved_by=second,
            written_by=draft.saved_by_id,
            columns=columns,
        )
    except NeedsApprovalError as error:
        return str(error)
    messages.success(request, _("The welcome letter is on."))
    return ""
