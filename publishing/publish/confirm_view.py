"""Confirm and publish a draft, on a page or in a dialog.

If an author presses the button twice, the draft is published once.
"""

import uuid
from datetime import timedelta
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from delivery.models import Edition
from idempotency.key import FIELD, HEADER, read_key
from idempotency.safe_to_retry import RETRY_AFTER_S, DifferentContentError, safe_to_retry
from publishing.desk_access import desk_page, may_publish, user_id_of
from publishing.drafts.draft_form import SHA256_HEX, first_error
from publishing.drafts.draft_pages import get_draft_or_404
from publishing.editions.audience import NOBODY, edition_audience
from publishing.editions.edition_status import load_status
from publishing.editions.find_edition import progress_url
from publishing.editions.versions import overlap_warnings
from publishing.flash_messages import (
    ACCEPTED,
    UNTIL_AT_REST,
    UNTIL_OTHERS_SETTLED,
    UNTIL_STARTED,
    in_the_archive,
    tag_of,
    to_nobody,
)
from publishing.models import Draft
from publishing.preflight.check_draft import PreflightResult, check
from publishing.preflight.preflight_view import check_page, publication_context
from publishing.publish.publish_draft import (
    CHANGED,
    Confirmation,
    DraftChangedError,
    PublishedByOtherError,
    publish_draft,
)
from publishing.scheduling.local_time import scheduled_for
from publishing.scheduling.schedule_form import ScheduleForm
from subscribers.links.see_other import see_other

# A post is a repetition if these fields have the same values and the URL names the same draft.
FIELDS = ("revision", "content", "version", "when", "at", "zone", "which")
WRONG_KEY = gettext_lazy(
    "This form does not belong to the draft. Nothing was published. Check the draft and try again."
)


class ConfirmForm(ScheduleForm):
    """The confirmation form; valid if the draft is unchanged and may be published.

    Validation sets `confirmed`. `checked` is None for a draft that was published.
    """

    revision = forms.IntegerField(required=False)
    content = forms.RegexField(SHA256_HEX, required=False)
    version = forms.IntegerField(required=False)

    confirmed: Confirmation

    def __init__(
        self, data: Any, _files: Any, *, draft: Draft, checked: PreflightResult | None
    ) -> None:
        self.draft, self.checked = draft, checked
        super().__init__(data, now=checked.context.now if checked else None)

    def clean(self) -> dict[str, Any]:
        found, checked = super().clean(), self.checked
        seen = (
            found.get("revision") or 0,
            bytes.fromhex(found.get("content", "")),
            found.get("version") or 0,
        )
        self.confirmed = Confirmation(*seen, self.moment)
        if checked is None:
            return found
        if seen != (self.draft.revision, checked.context.content.sha256, checked.version):
            self.add_error(None, CHANGED)
        elif checked.refusal:
            self.add_error(None, checked.refusal)
        return found


@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def publish_one(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Ask before publishing a draft, or on POST publish it once."""
    found = get_draft_or_404(draft)
    if request.method != "POST":
        if found.edition is not None:
            return see_other(progress_url(found.edition))
        checked = check(found, user_id_of(request))
        when = ScheduleForm(request.GET, now=checked.context.now)
        if when.is_valid() and not checked.findings["stops"]:
            return _confirm_page(request, checked, when)
        return check_page(request, found, checked=checked, when=when)
    if read_key(request.POST.getlist(FIELD), request.headers.get(HEADER)) != found.key:
        return show_refusal(request, found, str(WRONG_KEY))
    try:
        return _post(request, found)
    except DraftChangedError as error:
        # The draft was changed between the form's validation and the transaction.
        return show_refusal(request, get_draft_or_404(draft), str(error))
    except PublishedByOtherError as error:
        # Another author published the draft.
        messages.warning(request, str(error), extra_tags=tag_of(error.edition))
        return see_other(progress_url(error.edition))


def _post(request: HttpRequest, draft: Draft) -> HttpResponse:
    checked = check(draft, user_id_of(request)) if draft.edition is None else None
    return safe_to_retry(
        form=partial(ConfirmForm, draft=draft, checked=checked),
        fields=FIELDS,
        show_form=_form_with_errors,
        different_content=_already_published,
        in_progress=_still_working,
        invalid_key=lambda request, reason: show_refusal(request, draft, reason),
    )(_publish)(request)


def _publish(request: HttpRequest, form: ConfirmForm, _key: str) -> HttpResponse:
    edition = publish_draft(
        user_id_of(request),
        form.draft.pk,
        form.confirmed,
        content=form.checked.context.content if form.checked else None,
    )
    add_accepted_messages(request, edition)
    return see_other(progress_url(edition))


def add_accepted_messages(request: HttpRequest, edition: Edition) -> None:
    """Add the messages about an accepted issue: acceptance first, then warnings."""
    tag, moment = tag_of(edition), scheduled_for(edition)
    if moment:
        if edition.goes_to == NOBODY:
            sentence = _("The newsletter issue has been accepted. Its page appears on {time}.")
        else:
            sentence = _("The newsletter issue has been accepted. It goes out on {time} to {whom}.")
        sentence = sentence.format(time=moment, whom=edition_audience(edition))
        messages.success(request, sentence, extra_tags=f"{tag} {UNTIL_STARTED}")
        return
    if edition.goes_to == NOBODY:
        messages.success(request, in_the_archive(edition), extra_tags=tag)
        return
    messages.success(request, ACCEPTED, extra_tags=f"{tag} {UNTIL_AT_REST}")
    if not edition.audience:
        messages.warning(request, to_nobody(edition))
    if edition.version > 1:
        for warning in overlap_warnings(edition.issue_id, edition.version, edition.goes_to):
            messages.warning(request, warning, extra_tags=UNTIL_OTHERS_SETTLED)


def _confirm_page(
    request: HttpRequest, checked: PreflightResult, when: ScheduleForm
) -> HttpResponse:
    posted = [(name, when[name].value() or "") for name in ("when", "at", "zone", "which")]
    return desk_page(
        request,
        "publishing/publish/publish_sheet.html",
        {
            **publication_context(checked),
            "moment": when.moment,
            "starts": checked.context.now + timedelta(seconds=settings.PUBLISH_HOLD_S),
            "posted": posted if when.moment else [("when", "now")],
        },
    )


def show_refusal(request: HttpRequest, draft: Draft, refusal: str) -> HttpResponse:
    """Show the check sheet of the current draft, with the reason for the refusal."""
    if draft.edition is not None:
        messages.warning(request, refusal)
        return see_other(progress_url(draft.edition))
    return check_page(request, draft, refusal=refusal)


def _form_with_errors(request: HttpRequest, form: ConfirmForm, _key: str) -> HttpResponse:
    if form.checked is None:
        # The post that published the draft had valid fields, so this invalid post is no repetition.
        raise DifferentContentError
    refusal = first_error(form)
    return check_page(request, form.draft, checked=form.checked, when=form, refusal=refusal)


def _already_published(request: HttpRequest, form: ConfirmForm, _key: str) -> HttpResponse:
    """Answer 422: show the published issue, and how to continue."""
    found = get_draft_or_404(form.draft.pk)
    edition = found.edition
    return desk_page(
        request,
        "publishing/publish/draft_already_published.html",
        {
            "draft": found,
            "edition": edition,
            "status": load_status(edition.pk) if edition else None,
        },
    )


def _still_working(request: HttpRequest, form: ConfirmForm, key: str) -> HttpResponse:
    return still_working_page(
        request,
        key,
        FIELDS,
        title=str(form.draft),
        action=reverse("desk:publish_draft", args=[form.draft.pk]),
        kept=_("Nothing was lost: the draft has your text."),
    )


def still_working_page(
    request: HttpRequest, key: str, fields: tuple[str, ...], **context: str
) -> HttpResponse:
    """Answer 409 with a form that posts the same hidden fields and key again."""
    posted = [(name, request.POST[name]) for name in fields if name in request.POST]
    facts_of_form = {"key": key, "fields": posted, "again_in_s": RETRY_AFTER_S}
    return desk_page(request, "publishing/publish/still_working.html", {**context, **facts_of_form})
