"""Publish at once by `POST /admin/newsletters/` (docs/decisions/0059)."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from delivery.models import Edition
from idempotency.safe_to_retry import DifferentContentError, safe_to_retry
from publishing.approval.record_approval import NeedsApprovalError
from publishing.composer.composer_view import composer_page, fresh_page, shown_again
from publishing.content.draft_content import HTML, MARKDOWN, build_content, content_as_written
from publishing.content.edition_content import Content, texts_of
from publishing.content.text_diff import LinePair, diff_fields
from publishing.desk_access import may_publish, user_id_of
from publishing.drafts.draft_form import DraftForm
from publishing.drafts.keep_signed_out import keep_when_signed_out, sign_writer
from publishing.editions.audience import EVERYONE, TAG_FIELDS, choice_of
from publishing.editions.edition_status import load_status
from publishing.editions.find_edition import HIGHEST_VERSION
from publishing.editions.versions import VersionRefusedError, version_refusal, versions_of
from publishing.flash_messages import tag_of, there_already
from publishing.publish.confirm_view import add_accepted_messages, still_working_page
from publishing.publish.publish_edition import (
    KeyUsedForOtherContentError,
    PublishOptions,
    edition_by_key,
    has_content,
    publish,
)
from subscribers.links.see_other import see_other


class PublishForm(DraftForm):
    """A new issue, or the next version of an issue.

    A valid form has its `content` and `options`.
    """

    version = forms.IntegerField(
        required=False, min_value=1, max_value=HIGHEST_VERSION, widget=forms.HiddenInput
    )

    content: Content
    options: PublishOptions

    def clean(self) -> dict[str, Any]:
        found = super().clean()
        # Finished HTML and its plain text stay unchanged.
        is_markdown = self.written.format == MARKDOWN and not self.has_too_long_text
        self.content = (build_content if is_markdown else content_as_written)(self.written)
        if not self.has_too_long_text:
            self.add_problems(self.content)
        issue, version = found.get("issue"), found.get("version")
        goes_to = found.get("goes_to") or (None if issue else EVERYONE.value)
        if not self.errors.keys() & {"issue", "version", "goes_to"}:
            refusal = version_refusal(issue, version, goes_to)
            if refusal:
                self.add_error(None, refusal)
        tags = None  # a value of None keeps the tags of the issue
        if any(self[name].data is not None for name in TAG_FIELDS):
            tags = choice_of(self.written.with_tags, self.written.without_tags)
        self.options = PublishOptions(
            issue=issue,
            version=version,
            goes_to=goes_to,
            archive=self.written.archive,
            tags=tags,
            without_note=self.written.without_note,
        )
        return found


# A post with the same values of these fields is a repetition.
FIELDS = tuple(name for name in PublishForm().fields if name != "revision")


@keep_when_signed_out
@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def publishing_form(request: HttpRequest) -> HttpResponse:
    """Show the composer for HTML: empty, or with the next version of `?issue=`.

    POST publishes the posted issue at once. No button of the desk posts to this view.
    """
    if request.method != "POST":
        return fresh_page(request, request.GET.get("issue", ""), written_in=HTML)
    try:
        return _post(request)
    except (NeedsApprovalError, VersionRefusedError) as error:
        # Everything is rolled back, so the form can be posted again with the same key.
        form = PublishForm(request.POST)
        form.add_error(None, str(error))
        return shown_again(request, form)


def _already_published(request: HttpRequest, form: PublishForm, key: str) -> HttpResponse:
    """Answer 422: show the published edition, and the posted text in a new form."""
    asked = form.options
    earlier = edition_by_key(user_id_of(request), key)
    under_key = earlier is not None
    if earlier is None and asked.issue and asked.version:
        earlier = versions_of(asked.issue).defer(None).filter(version=asked.version).first()
    status, heading = load_status(earlier.pk) if earlier else None, ""
    if status:
        is_started = status.counts.has_started
        heading = _("Already published") if is_started else _("Already scheduled")
    is_same = earlier is not None and asked.are_met_by(earlier, form.content)
    return composer_page(
        request,
        form.written,
        issue=asked.issue,
        already={
            "under_key": under_key,
            "earlier": earlier,
            "status": status,
            "parts": _differences(earlier, form.content) if earlier else [],
            "other_heading": heading,
            "same": is_same,
            "elsewhere": earlier and has_content(earlier, form.content) and not is_same,
        },
    )


def _differences(earlier: Edition, posted: Content) -> list[tuple[str, list[LinePair | None]]]:
    published, mine = (
        {str(one.label): text for one, text in texts_of(content)}
        for content in (Content.of_edition(earlier), posted)
    )
    return list(diff_fields(published, mine).items())


@safe_to_retry(
    form=PublishForm,
    fields=FIELDS,
    show_form=lambda request, form, _key: shown_again(request, form),
    different_content=_already_published,
    in_progress=lambda request, form, key: still_working_page(
        request,
        key,
        FIELDS,
        title=form.content.plain_title,
        action=reverse("desk:publish"),
        writer=sign_writer(request.user),
        kept=_("Nothing was lost: this page has your text."),
    ),
    invalid_key=lambda request, reason: shown_again(
        request,
        notice=" ".join(
            (reason, _("Nothing was published. Your text is here, in a form that you can post."))
        ),
    ),
)
def _post(request: HttpRequest, form: PublishForm, key: str) -> HttpResponse:
    content, author, hold_s = form.content, user_id_of(request), settings.PUBLISH_HOLD_S
    try:
        edition = publish(author, key, content, form.options, hold_s=hold_s).edition
    except KeyUsedForOtherContentError:
        raise DifferentContentError from None
    if (edition.author_id, edition.idempotency_key) == (author, key):
        add_accepted_messages(request, edition)
    elif has_content(edition, content):
        messages.warning(request, there_already(edition), extra_tags=tag_of(edition))
    else:
        raise DifferentContentError
    return see_other(reverse("desk:publish"))
