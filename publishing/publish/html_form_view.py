"""The form for finished HTML: save or publish it (docs/decisions/0031)."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from delivery.models import Edition, Newsletter
from delivery.reports.worker_warnings import load_warnings
from idempotency.key import FIELD, HEADER, InvalidKey, fresh_key, read_key
from idempotency.safe_to_retry import DifferentContentError, safe_to_retry
from publishing.approval.approval import NeedsApprovalError
from publishing.content.edition_content import Content, plain_title, texts_of
from publishing.content.text_diff import LinePair, diff_fields
from publishing.desk_access import desk_page, may_publish, user_id_of
from publishing.drafts import drafts
from publishing.drafts.draft_form import parse_revision
from publishing.drafts.keep_signed_out import keep_when_signed_out, sign_writer
from publishing.editions.audience import EVERYONE, TagChoice
from publishing.editions.edition_name import parse_issue_id, parse_version, progress_url
from publishing.editions.listing import POSTED_AS
from publishing.editions.posted_tags import TAG_FIELDS, choice_of, join_ids, tags_by_name, words_of
from publishing.editions.status import EditionStatus, load_status
from publishing.editions.tag_sentences import choice_words
from publishing.editions.versions import (
    VersionPlan,
    VersionRefusedError,
    audience_choices,
    default_goes_to,
    plan_version,
    readers_now,
    versions_of,
)
from publishing.flash_messages import notes_of, tag_of, there_already
from publishing.models import Draft, Visibility
from publishing.progress.issue_list import newest_editions, rows_of
from publishing.publish.confirm_view import (
    add_accepted_messages,
    lead_to_edition,
    show_refusal,
    still_working_page,
)
from publishing.publish.html_form import FIELDS, WRITTEN_FIELDS, HtmlForm
from publishing.publish.publish import (
    KeyUsedForOtherContentError,
    edition_by_key,
    has_content,
    publish,
)
from publishing.publish.publish_draft import (
    DELETED,
    Confirmation,
    DraftChangedError,
    PublishedByOtherError,
    matching_content,
    publish_draft,
)
from publishing.test_letters.test_letters import last_test_address
from subscribers.importing.run import running_import
from subscribers.links.see_other import see_other

View = Callable[[HttpRequest], HttpResponse]

LATEST = 5


def _return_to_check_sheet(view: View) -> View:
    @wraps(view)
    def guarded(request: HttpRequest) -> HttpResponse:
        if request.method == "POST" and not request.user.is_authenticated:
            draft = _confirmed_draft(request)
            if draft is not None:
                return redirect_to_login(
                    reverse("desk:check", args=[draft.pk]), resolve_url(settings.LOGIN_URL)
                )
        return view(request)

    return guarded


@_return_to_check_sheet
@keep_when_signed_out
@may_publish
@require_http_methods(["GET", "HEAD", "POST"])
def publishing_form(request: HttpRequest) -> HttpResponse:
    """Show the form, filled with the newest version of `?issue=`; publish on POST."""
    if request.method == "POST":
        return _publish(request)
    issue = request.GET.get("issue")
    initial = _fields_for_next_version(issue) if issue is not None else {}
    return _form_page(request, HtmlForm(initial=initial), fresh_key())


def _fields_for_next_version(text: str) -> dict[str, str]:
    try:
        issue = parse_issue_id(text)
    except ValueError as error:
        raise Http404(str(error)) from None
    newest = versions_of(issue).defer(None).first()
    if newest is None:
        raise Http404(_("There is no issue {issue}.").format(issue=issue))
    next_version = {"issue": str(issue), "version": str(newest.version + 1)}
    words = {name: getattr(newest, name) for name in WRITTEN_FIELDS}
    kept = TagChoice.of(newest)
    tags = dict(zip(TAG_FIELDS, map(join_ids, (kept.with_ids, kept.without_ids)), strict=True))
    # Without a page, its test letters may not link to one.
    archive = {} if newest.issue.has_page else {"unlisted": POSTED_AS[Visibility.NONE]}
    return {**words, **next_version, **tags, **archive, "goes_to": default_goes_to(issue)}


def _publish(request: HttpRequest) -> HttpResponse:
    try:
        return _post(request)
    except (NeedsApprovalError, VersionRefusedError) as error:
        # Everything is rolled back, so the key is free.
        form = HtmlForm(request.POST)
        form.add_error(None, str(error))
        key = request.POST.get(FIELD) or request.headers[HEADER]
        return _form_with_errors(request, form, key)
    except DraftChangedError as error:
        draft = _confirmed_draft(request)
        if draft is None:
            return form_again(request, notice="bad_key", reason=str(error), status=200)
        return show_refusal(request, draft, str(error))
    except PublishedByOtherError as error:
        return lead_to_edition(request, error)


def form_again(request: HttpRequest, *, status: int, **notice: str) -> HttpResponse:
    """Show the posted fields in the form again, under the same key if it is valid."""
    key = read_key(request.POST.getlist(FIELD), None)
    posted = words_of(request.POST)
    form = HtmlForm(initial={name: posted.get(name, "") for name in FIELDS})
    key = fresh_key() if isinstance(key, InvalidKey) else key
    return _form_page(request, form, key, status=status, **notice)


def _form_page(
    request: HttpRequest, form: HtmlForm, key: str, *, status: int = 200, **notice: str
) -> HttpResponse:
    context = {
        **_form_context(request, form, key),
        **notice,
        "notes": notes_of(request),
        "warnings": load_warnings(),
        "rows": rows_of(newest_editions()[:LATEST]),
    }
    return desk_page(request, "publishing/form.html", context, status=status)


def _form_context(request: HttpRequest, form: HtmlForm, key: str) -> dict[str, Any]:
    tags = choice_of(*form.tag_ids)
    plan = _plan(form, tags)
    goes_to = str(form["goes_to"].value() or EVERYONE)
    return {
        "form": form,
        "error_count": sum(len(errors) for errors in form.errors.values()),
        "key": key,
        "writer": sign_writer(request.user),
        "plan": plan,
        "plan_title": plain_title(plan.newest) if plan else "",
        "choices": audience_choices(plan, tags) if plan else [],
        "whom": choice_words(EVERYONE, tags),
        "readers": readers_now(goes_to, tags, plan),
        "all_tags": tags_by_name(),
        **dict(zip(TAG_FIELDS, form.tag_ids, strict=True)),
        "goes_to": goes_to,
        "importing": running_import(),
        "test_address": last_test_address(request.user),
        "sender": Newsletter.objects.get_current().sender,
        "hold_s": settings.PUBLISH_HOLD_S,
    }


def _plan(form: HtmlForm, tags: TagChoice) -> VersionPlan | None:
    issue, version = (form[name].value() or "" for name in ("issue", "version"))
    try:
        return plan_version(parse_issue_id(issue), parse_version(version or None), tags)
    except ValueError:
        return None


def _form_with_errors(request: HttpRequest, form: HtmlForm, key: str) -> HttpResponse:
    draft = _confirmed_draft(request)
    if draft is not None:
        return show_refusal(request, draft, str(next(iter(form.errors.values()))[0]))
    return _form_page(request, form, key)


def _already_published(request: HttpRequest, form: HtmlForm, key: str) -> HttpResponse:
    """Answer 422: show the published edition, and the posted text in a new form."""
    asked = form.publish_request
    earlier = edition_by_key(user_id_of(request), key)
    under_key = earlier is not None
    if earlier is None and asked.issue and asked.version:
        earlier = versions_of(asked.issue).defer(None).filter(version=asked.version).first()
    status = load_status(earlier.pk) if earlier else None
    initial = {name: form[name].value() or "" for name in FIELDS}
    # The author may have meant a correction of the earlier issue, so offer its next version.
    issue = asked.issue or (earlier and earlier.issue_id)
    following = plan_version(issue) if issue else None
    if following:
        initial |= {"version": str(following.version), "goes_to": initial["goes_to"] or EVERYONE}
    return desk_page(
        request,
        "publishing/already_published.html",
        {
            **_form_context(request, HtmlForm(initial=initial), fresh_key()),
            "under_key": under_key,
            "earlier": earlier,
            "status": status,
            "parts": _differences(earlier, asked.content) if earlier else [],
            "other_heading": _name_earlier(status),
            "elsewhere": earlier
            and has_content(earlier, asked.content)
            and not asked.is_answered_by(earlier),
            "could_be": None if asked.issue else following,
        },
    )


def _name_earlier(status: EditionStatus | None) -> str:
    if not status:
        return ""
    return _("Already published") if status.counts.has_started else _("Already scheduled")


def _differences(earlier: Edition, posted: Content) -> list[tuple[str, list[LinePair | None]]]:
    published, mine = (
        {str(one.label): text for one, text in texts_of(content)}
        for content in (Content.of_edition(earlier), posted)
    )
    return list(diff_fields(published, mine).items())


def _still_working(request: HttpRequest, form: HtmlForm, key: str) -> HttpResponse:
    return still_working_page(
        request,
        key,
        (*FIELDS, "revision"),
        title=form.publish_request.content.plain_title,
        action=reverse("desk:publish"),
        writer=sign_writer(request.user),
        kept=_("Nothing was lost: this page has your text."),
    )


@safe_to_retry(
    form=HtmlForm,
    fields=FIELDS,
    show_form=_form_with_errors,
    different_content=_already_published,
    in_progress=_still_working,
    invalid_key=lambda request, reason: form_again(
        request, notice="bad_key", reason=reason, status=400
    ),
)
def _post(request: HttpRequest, form: HtmlForm, key: str) -> HttpResponse:
    asked, author = form.publish_request, user_id_of(request)
    draft, revision = drafts.load_draft(key=key), parse_revision(request.POST.get("revision"))
    address = ""
    if draft is not None:
        # They were chosen on the check sheet, after this form was opened.
        address = draft.address
        asked = replace(asked, archive=asked.archive or draft.fields.archive)
    content = matching_content(draft, asked) if draft else None
    try:
        if content is not None or revision:
            if draft is None:
                raise DraftChangedError(str(DELETED))
            # If the fields differ from the draft, the hash is empty and nothing is published.
            confirmed = Confirmation(
                revision or draft.revision,
                content.sha256 if content else b"",
                asked.version or 1,
                moment=None,
            )
            edition = publish_draft(
                author,
                draft.pk,
                confirmed,
                content=content if draft.revision == confirmed.revision else None,
            )
            add_accepted_messages(request, edition)
            return see_other(progress_url(edition) if revision else reverse("desk:publish"))
        edition = publish(
            author,
            key,
            asked.content,
            hold_s=settings.PUBLISH_HOLD_S,
            issue=asked.issue,
            version=asked.version,
            goes_to=asked.goes_to,
            archive=asked.archive,
            tags=asked.tags,
            address=address,
        ).edition
    except KeyUsedForOtherContentError:
        raise DifferentContentError from None
    if (edition.author_id, edition.idempotency_key) == (author, key):
        add_accepted_messages(request, edition)
    elif has_content(edition, asked.content):
        messages.warning(request, there_already(edition), extra_tags=tag_of(edition))
    else:
        raise DifferentContentError
    return see_other(reverse("desk:publish"))


def _confirmed_draft(request: HttpRequest) -> Draft | None:
    is_confirmation = parse_revision(request.POST.get("revision"))
    return drafts.load_draft(key=request.POST.get(FIELD, "")) if is_confirmation else None
