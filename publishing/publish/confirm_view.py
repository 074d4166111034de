"""
The question before a draft is published, and the press of its button: twice is once.

GET asks, on a page of its own or, with scripts, in a dialog over the sheet. POST publishes under
the one key of the draft; what a repeated post means is decided by `idempotency.safe_to_retry`.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from delivery.models import Edition, Newsletter
from idempotency.key import FIELD, HEADER, key_given
from idempotency.safe_to_retry import RETRY_AFTER_S, OtherContentError, safe_to_retry
from publishing.content.edition_content import Content, plain_title
from publishing.desk_access import author_of, desk_page, may_publish
from publishing.editions.listing import archive_sentence
from publishing.editions.status import load_status
from publishing.editions.versions import NOBODY, overlap_warnings
from publishing.flash_messages import ACCEPTED, in_the_archive, notes_of, tag_of, to_nobody
from publishing.models import Draft
from publishing.preflight.collect import Checked, check, is_to_be_unlisted
from publishing.preflight.preflight_view import check_page, draft_at, progress_of, what_goes_out
from publishing.publish.confirm_form import PublishSheetForm
from publishing.publish.publish_draft import (
    ChangedMeanwhileError,
    PublishedBySomebodyElseError,
    PublishedOtherwiseError,
    publish_draft,
)
from publishing.scheduling.local_time import scheduled_moment
from publishing.scheduling.schedule_form import ScheduleForm
from subscribers.links.see_other import see_other

# All that makes two presses the same, beside the address, which names the draft.
FIELDS = ("revision", "content", "version", "when", "at", "zone", "which")
NOT_ITS_KEY = "The form came without the key of this draft. Nothing was published; look again."


@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def publish_one(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """GET asks whether to publish the draft as it is now; POST does it, once."""
    found = draft_at(draft)
    if request.method != "POST":
        if found.edition is not None:
            return see_other(progress_of(found.edition))
        checked = check(found, author_of(request))
        when = ScheduleForm(request.GET, own_zone=_own_zone(), now=checked.facts.now)
        if checked.may_go_out and when.is_valid():
            return _sheet_page(request, checked, when)
        when.is_valid()
        return check_page(request, found, checked=checked, when=when)
    if key_given(request.POST.getlist(FIELD), request.headers.get(HEADER)) != found.key:
        return asked_again(request, found, NOT_ITS_KEY)
    try:
        return _press(request, found)
    except ChangedMeanwhileError as error:
        # It was what they saw when the press was looked at, and no longer when it was its turn.
        return asked_again(request, draft_at(draft), str(error))
    except PublishedBySomebodyElseError as error:
        return was_first(request, error)


def _press(request: HttpRequest, draft: Draft) -> HttpResponse:
    """One press, looked at beside the draft as it stands now; of a published draft, as it was."""
    checked = check(draft, author_of(request)) if draft.edition is None else None
    press = safe_to_retry(
        form=partial(
            PublishSheetForm,
            stands=(draft.revision, checked.content.sha256, checked.version) if checked else None,
            stopped=checked.why_not if checked else "",
            own_zone=_own_zone(),
            now=checked.facts.now if checked else None,
        ),
        fields=FIELDS,
        show_form=partial(_refused, draft=draft, checked=checked),
        other_content=partial(_already_published, draft=draft),
        still_working=partial(_still_working, draft=draft),
        bad_key=lambda request, reason: asked_again(request, draft, reason),
    )(_published)
    return press(request, draft=draft, content=checked.content if checked else None)


def _published(
    request: HttpRequest,
    form: PublishSheetForm,
    _key: str,
    *,
    draft: Draft,
    content: Content | None,
) -> HttpResponse:
    """Publish, inside the transaction that also holds the claim and the answer."""
    try:
        edition = publish_draft(
            author_of(request),
            draft.pk,
            form.agreed,
            hold_s=settings.PUBLISH_HOLD_S,
            content=content,
        )
    except PublishedOtherwiseError:
        raise OtherContentError from None
    return accepted(request, edition)


def accepted(request: HttpRequest, edition: Edition) -> HttpResponse:
    """303 to the progress of the edition, which says that it was accepted."""
    say_what_was_accepted(request, edition)
    return see_other(progress_of(edition))


def say_what_was_accepted(request: HttpRequest, edition: Edition) -> None:
    """Tell the author that it was accepted, and what else they should know about it."""
    moment = scheduled_moment(edition)
    if moment:
        goes = "appears in the archive" if edition.goes_to == NOBODY else "goes out"
        said = f"The newsletter issue has been accepted. It {goes} {moment.words}."
        messages.success(request, said, extra_tags=tag_of(edition))
        return
    if edition.goes_to == NOBODY:
        messages.success(request, in_the_archive(edition), extra_tags=tag_of(edition))
        return
    messages.success(request, ACCEPTED, extra_tags=tag_of(edition))
    if not edition.audience:
        messages.warning(request, to_nobody(edition))
    if edition.version > 1:
        for sentence in overlap_warnings(edition.issue_id, edition.version, edition.goes_to):
            messages.warning(request, sentence)


# --- Pages ----------------------------------------------------------------------------------------


def _sheet_page(
    request: HttpRequest, checked: Checked, when: ScheduleForm, *, refusal: str = ""
) -> HttpResponse:
    """The question, with the numbers of now and one button."""
    starts = checked.facts.now + timedelta(seconds=settings.PUBLISH_HOLD_S)
    return desk_page(
        request,
        "publishing/publish_sheet.html",
        {
            **what_goes_out(checked),
            "when": when,
            "moment": when.moment,
            "starts": starts,
            "posted": _posted(when),
            # Finished HTML is published at the form's own address, by its own fields.
            "by_its_words": checked.draft.format == Draft.Format.HTML and when.moment is None,
            "words": _words_of(checked),
            "stands": archive_sentence(unlisted=is_to_be_unlisted(checked.draft, checked.place)),
            "notes": notes_of(request),
            "refusal": refusal,
        },
    )


def _posted(when: ScheduleForm) -> list[tuple[str, str]]:
    """What the button posts of the time. Now is now, whatever else was chosen or left alone."""
    if when.moment is None:
        return [("when", "now")]
    return [(name, when[name].value() or "") for name in ("when", "at", "zone", "which")]


def _words_of(checked: Checked) -> list[tuple[str, str]]:
    """
    The fields that the button posts for finished HTML.

    They are those of its form, so a post of either is a replay of the other.
    """
    draft, content = checked.draft, checked.content
    words = {
        "title": content.title,
        "preheader": content.preheader,
        "html_content": content.html,
        "text_content": content.text,
    }
    if draft.unlisted:
        words["unlisted"] = "on"
    if draft.issue_id:
        words |= {"issue": str(draft.issue_id), "version": str(checked.version)}
    if draft.issue_id or draft.goes_to == NOBODY:
        words["goes_to"] = draft.goes_to
    return list(words.items())


def was_first(request: HttpRequest, error: PublishedBySomebodyElseError) -> HttpResponse:
    """303 to the progress of the edition that somebody else made of the draft."""
    messages.warning(request, str(error), extra_tags=tag_of(error.edition))
    return see_other(progress_of(error.edition))


def asked_again(request: HttpRequest, draft: Draft, refusal: str) -> HttpResponse:
    """The sheet as the draft stands now, and why nothing was published."""
    if draft.edition is not None:
        messages.warning(request, refusal)
        return see_other(progress_of(draft.edition))
    return check_page(request, draft, refusal=refusal)


def _refused(
    request: HttpRequest,
    form: PublishSheetForm,
    _key: str,
    *,
    draft: Draft,
    checked: Checked | None,
) -> HttpResponse:
    """200: the sheet again, as the draft stands now, with the one sentence."""
    (refusal, *_) = form.non_field_errors()
    return check_page(request, draft, checked=checked, when=form.when, refusal=str(refusal))


def _already_published(
    request: HttpRequest, _form: PublishSheetForm, _key: str, *, draft: Draft
) -> HttpResponse:
    """422: what came of the draft, and the way to go on from its words."""
    found = draft_at(draft.pk)
    edition = found.edition
    return desk_page(
        request,
        "publishing/draft_already_published.html",
        {
            "draft": found,
            "edition": edition,
            "title": plain_title(edition) if edition else str(found),
            "moment": scheduled_moment(edition) if edition else None,
            "stands": load_status(edition.pk) if edition else None,
        },
    )


def _still_working(
    request: HttpRequest, _form: PublishSheetForm, key: str, *, draft: Draft
) -> HttpResponse:
    """409: what was posted, hidden, in a form that looks again under the same key."""
    return desk_page(
        request,
        "publishing/still_working.html",
        {
            "title": str(draft),
            "action": reverse("desk:publish_draft", args=[draft.pk]),
            "key": key,
            "fields": [(name, request.POST[name]) for name in FIELDS if name in request.POST],
            "again_in_s": RETRY_AFTER_S,
        },
    )


def _own_zone() -> str:
    return Newsletter.objects.the_one().time_zone
