"""
The form for finished HTML, and publishing what it posts exactly once.

It is for a new issue, or with `?issue=` for the next version of one that was published. Its button
saves a draft and leads to the check sheet; the button of the question after that posts the same
fields and key here (docs/decisions/0031). Scripts post them at once.

What a repeated post means is decided by `idempotency.safe_to_retry`; here are the pages for it.
Each of them has the author's words on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from delivery.models import Edition
from delivery.monitoring.worker_heartbeat import load_warnings
from idempotency.key import FIELD, HEADER, BadKey, fresh_key, key_given
from idempotency.safe_to_retry import RETRY_AFTER_S, OtherContentError, safe_to_retry
from publishing.approval.approval import NeedsApprovalError
from publishing.content.edition_content import Content, plain_title
from publishing.content.version_diff import compare
from publishing.desk_access import author_of, desk_page, may_publish
from publishing.drafts import drafts, unsent_forms
from publishing.drafts.draft_form import revision_posted
from publishing.drafts.unsent_forms import FIELDS
from publishing.editions.parse_edition_name import parse_issue_id, parse_version
from publishing.editions.status import load_status
from publishing.editions.versions import (
    EVERYONE,
    Place,
    audience_choices,
    default_goes_to,
    plan_version,
    versions_of,
)
from publishing.flash_messages import notes_of, tag_of, there_already
from publishing.models import Draft, KeptForm
from publishing.progress.issue_list import newest_editions, rows_of
from publishing.publish.confirm_view import (
    accepted,
    asked_again,
    say_what_was_accepted,
    was_first,
)
from publishing.publish.html_form import PublishForm
from publishing.publish.publish import (
    KeyUsedForOtherContentError,
    PublishRequest,
    edition_by_key,
    has_content,
    publish,
)
from publishing.publish.publish_draft import (
    THROWN_AWAY,
    Agreed,
    ChangedMeanwhileError,
    PublishedBySomebodyElseError,
    PublishedOtherwiseError,
    content_if_of,
    publish_draft,
)
from publishing.test_letters.test_letters import last_test_address
from subscribers.audience import confirmed
from subscribers.importing.background import import_under_way
from subscribers.links.see_other import see_other

View = Callable[[HttpRequest], HttpResponse]

LATEST = 5


def _leads_back_to_the_sheet(view: View) -> View:
    """After sign-in, show the check sheet again to an author who answered it."""

    @wraps(view)
    def led_back(request: HttpRequest) -> HttpResponse:
        if request.method == "POST" and not request.user.is_authenticated:
            draft = _draft_asked_about(request)
            if draft is not None:
                return redirect_to_login(
                    reverse("desk:check", args=[draft.pk]), resolve_url(settings.LOGIN_URL)
                )
        return view(request)

    return led_back


@_leads_back_to_the_sheet
@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def publishing_form(request: HttpRequest) -> HttpResponse:
    """
    GET shows a fresh form, POST publishes what is in it.

    `?issue=` fills it with the newest words of an issue, to be published as its next version.
    A letter that is kept for the author stands in the form instead, until it is published or
    deleted: the newest, or the one that `?kept=` names by its key. An empty `?kept=` names none.
    """
    if request.method == "POST":
        return _published(request)
    waiting = list(unsent_forms.waiting(author_of(request)))
    issue = request.GET.get("issue")
    words = _newest_words(issue) if issue is not None else {}
    kept = unsent_forms.chosen(waiting, request.GET.get("kept"), issue=words.get("issue"))
    others = [form for form in waiting if form != kept]
    if kept is None:
        return _form_page(request, PublishForm(initial=words), fresh_key(), others=others)
    form = PublishForm(initial={name: getattr(kept, name) for name in FIELDS})
    return _form_page(request, form, kept.key, notice="signed_out", others=others)


def _newest_words(named: str) -> dict[str, str]:
    """The fields of a form for the next version of an issue. Raises `Http404`."""
    try:
        issue = parse_issue_id(named)
    except ValueError as error:
        raise Http404(str(error)) from None
    newest = versions_of(issue).defer(None).first()
    if newest is None:
        raise Http404(f"There is no issue {issue}.")
    return {
        "title": newest.title,
        "preheader": newest.preheader,
        "html_content": newest.html_content,
        "text_content": newest.text_content,
        "issue": str(issue),
        "version": str(newest.version + 1),
        "goes_to": default_goes_to(issue),
    }


def _published(request: HttpRequest) -> HttpResponse:
    """What came of the post. Words that went out need not be kept any longer."""
    try:
        answer = _posted(request)
    except NeedsApprovalError as error:
        # Everything is rolled back and the key is free: the words are shown as with any error.
        form = PublishForm(request.POST)
        form.add_error(None, str(error))
        return _form_with_errors(request, form, request.POST.get(FIELD) or request.headers[HEADER])
    except ChangedMeanwhileError as error:
        draft = _draft_asked_about(request)
        if draft is None:
            return form_again(request, notice="bad_key", reason=str(error), status=200)
        return asked_again(request, draft, str(error))
    except PublishedBySomebodyElseError as error:
        return was_first(request, error)
    key = key_given(request.POST.getlist(FIELD), request.headers.get(HEADER))
    if answer.status_code == 303 and not isinstance(key, BadKey):
        unsent_forms.forget(author_of(request), key)
    return answer


def form_again(request: HttpRequest, *, notice: str, reason: str = "", status: int) -> HttpResponse:
    """
    The posted words in the form again, after something that kept them from being looked at.

    The key stays the same wherever it can: perhaps the form was published under it already.
    """
    key = key_given(request.POST.getlist(FIELD), None)
    if isinstance(key, BadKey):
        key = fresh_key()
    form = PublishForm(initial={name: request.POST.get(name, "") for name in FIELDS})
    return _form_page(request, form, key, notice=notice, reason=reason, status=status)


def _form_page(
    request: HttpRequest,
    form: PublishForm,
    key: str,
    *,
    notice: str = "",
    reason: str = "",
    others: Sequence[KeptForm] = (),
    status: int = 200,
) -> HttpResponse:
    return desk_page(
        request,
        "publishing/form.html",
        {
            **_form_facts(request, form, key),
            "notes": notes_of(request),
            "warnings": load_warnings(),
            "notice": notice,
            "reason": reason,
            "others": others,
            "rows": rows_of(newest_editions()[:LATEST]),
        },
        status=status,
    )


def _form_facts(request: HttpRequest, form: PublishForm, key: str) -> dict[str, Any]:
    """What the form itself needs, on whichever page it stands."""
    place = _place(form)
    return {
        "form": form,
        "error_count": sum(len(errors) for errors in form.errors.values()),
        "key": key,
        "writer": unsent_forms.signed_writer(request.user),
        "place": place,
        "place_title": plain_title(place.newest) if place else "",
        "choices": audience_choices(place, place.everyone) if place else [],
        "readers": place.everyone if place else confirmed().count(),
        "importing": import_under_way(),
        "test_address": last_test_address(request.user),
        "sender": settings.FROM_EMAIL,
        "hold_s": settings.PUBLISH_HOLD_S,
    }


def _place(form: PublishForm) -> Place | None:
    """Which version of which issue a form is for; None for a new issue or one that is unknown."""
    try:
        return plan_version(
            parse_issue_id(form["issue"].value() or ""),
            parse_version(form["version"].value() or None),
        )
    except ValueError:
        return None


def _form_with_errors(request: HttpRequest, form: PublishForm, key: str) -> HttpResponse:
    """200: the words with what is wrong with them; where they are kept, as they are now."""
    draft = _draft_asked_about(request)
    if draft is not None:
        return asked_again(request, draft, str(next(iter(form.errors.values()))[0]))
    unsent_forms.replace(request, author_of(request), key, by_key=key)
    return _form_page(request, form, key)


def _already_published(request: HttpRequest, form: PublishForm, key: str) -> HttpResponse:
    """422: the words in a fresh form, and what came of the earlier one or of that version."""
    author, fresh = author_of(request), fresh_key()
    earlier = edition_by_key(author, key)
    under_key = earlier is not None
    if earlier is None and form.named_issue and form.named_version:
        there = versions_of(form.named_issue).filter(version=form.named_version)
        earlier = there.defer(None).select_related("author").first()
    again = {name: form[name].value() or "" for name in FIELDS}
    # A new issue may have been meant as a correction of the first: that can be chosen below.
    subject = form.named_issue or (earlier and earlier.issue_id)
    following = plan_version(subject) if subject else None
    if following:
        again |= {"version": str(following.version), "goes_to": again["goes_to"] or EVERYONE.value}
    # Kept under the used key, or for that version, these words could never be published.
    unsent_forms.replace(request, author, key, by_key=fresh, version=again["version"])
    comparisons = compare(_content_of(earlier), form.content) if earlier else []
    return desk_page(
        request,
        "publishing/already_published.html",
        {
            **_form_facts(request, PublishForm(initial=again), fresh),
            "under_key": under_key,
            "earlier": earlier,
            "earlier_title": plain_title(earlier) if earlier else "",
            "stands": load_status(earlier.pk) if earlier else None,
            "comparisons": comparisons,
            "only_blanks": earlier and all(comparison.now is None for comparison in comparisons),
            "elsewhere": earlier and _same_words_elsewhere(form, earlier),
            "could_be": None if form.named_issue else following,
        },
    )


def _same_words_elsewhere(form: PublishForm, earlier: Edition) -> bool:
    """Whether nothing differs but which version it is, or whom it goes to."""
    asked = PublishRequest(
        form.content, form.named_issue, form.named_version, form.whom, form.to_be_unlisted
    )
    return has_content(earlier, form.content) and not asked.is_answered_by(earlier)


def _content_of(edition: Edition) -> Content:
    return Content(edition.title, edition.html_content, edition.text_content, edition.preheader)


def _still_working(request: HttpRequest, form: PublishForm, key: str) -> HttpResponse:
    """409: the posted words, hidden, in a form that looks again under the same key."""
    return desk_page(
        request,
        "publishing/still_working.html",
        {
            "title": form.content.plain_title,
            "key": key,
            "writer": unsent_forms.signed_writer(request.user),
            "fields": [
                (name, request.POST[name]) for name in (*FIELDS, "revision") if name in request.POST
            ],
            "again_in_s": RETRY_AFTER_S,
        },
    )


def _without_a_key(request: HttpRequest, reason: str) -> HttpResponse:
    return form_again(request, notice="bad_key", reason=reason, status=400)


@safe_to_retry(
    form=PublishForm,
    fields=FIELDS,
    show_form=_form_with_errors,
    other_content=_already_published,
    still_working=_still_working,
    bad_key=_without_a_key,
)
def _posted(request: HttpRequest, form: PublishForm, key: str) -> HttpResponse:
    """Publish, inside the transaction that also holds the claim and the answer."""
    draft, revision = drafts.draft_by_key(key), _revision_shown(request)
    content = _content_if_of(draft, form) if draft is not None else None
    if content is not None or revision:
        return _draft_published(request, form, draft, content)
    author = author_of(request)
    try:
        edition = publish(
            author,
            key,
            form.content,
            hold_s=settings.PUBLISH_HOLD_S,
            issue=form.named_issue,
            version=form.named_version,
            goes_to=form.whom,
            unlisted=form.to_be_unlisted,
        ).edition
    except KeyUsedForOtherContentError:
        raise OtherContentError from None
    if (edition.author_id, edition.idempotency_key) == (author, key):
        say_what_was_accepted(request, edition)
    elif has_content(edition, form.content):
        messages.warning(request, there_already(edition), extra_tags=tag_of(edition))
    else:
        raise OtherContentError
    return see_other(reverse("desk:publish"))


def _content_if_of(draft: Draft, form: PublishForm) -> Content | None:
    """The content of the draft if the form posts exactly its words, readers and place."""
    return content_if_of(
        draft,
        form.content,
        issue=form.named_issue,
        goes_to=form.whom or default_goes_to(form.named_issue),
        unlisted=form.to_be_unlisted,
    )


def _draft_published(
    request: HttpRequest, form: PublishForm, draft: Draft | None, content: Content | None
) -> HttpResponse:
    """Publish the draft under the key if the post is exactly of it: then `content` is given."""
    revision = _revision_shown(request)
    if draft is None:
        raise ChangedMeanwhileError(THROWN_AWAY)
    # No draft has an empty hash: a post with other fields than the draft's publishes nothing.
    agreed = Agreed(
        revision or draft.revision,
        content.sha256 if content else b"",
        form.named_version or 1,
        moment=None,
    )
    try:
        edition = publish_draft(
            author_of(request),
            draft.pk,
            agreed,
            hold_s=settings.PUBLISH_HOLD_S,
            content=content if draft.revision == agreed.revision else None,
        )
    except PublishedOtherwiseError:
        raise OtherContentError from None
    if revision:
        return accepted(request, edition)
    say_what_was_accepted(request, edition)
    return see_other(reverse("desk:publish"))


def _revision_shown(request: HttpRequest) -> int:
    """The revision that the question about the draft showed; 0 without a question."""
    return revision_posted(request.POST.dict())


def _draft_asked_about(request: HttpRequest) -> Draft | None:
    """The draft whose question the post answers, if it is still there."""
    return drafts.draft_by_key(request.POST.get(FIELD, "")) if _revision_shown(request) else None
