"""Show the composer. A POST saves a draft, then does the pressed button's action."""

import uuid
from dataclasses import replace
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from delivery.issue_attributes import ISSUE_ATTRIBUTES
from idempotency.key import FIELD, HEADER, InvalidKey, fresh_key, read_key
from publishing.composer.audience_view import audience_context
from publishing.composer.composer_stats import composer_stats
from publishing.content.draft_content import HTML, MARKDOWN, DraftFields
from publishing.content.edition_content import plain_title
from publishing.content.markdown import render_markdown
from publishing.content.videos import VIDEO_ADDRESS
from publishing.desk_access import desk_page, may_write, sees_readers, user_id_of, wants_json
from publishing.desk_permissions import PUBLISH
from publishing.drafts import save_draft
from publishing.drafts.draft_form import (
    DraftForm,
    RevisionForm,
    first_error,
    form_values,
    too_long,
)
from publishing.drafts.draft_pages import (
    conflict_page,
    describe_conflict,
    get_draft_or_404,
    saved_clock,
)
from publishing.drafts.keep_signed_out import (
    KeptForm,
    draft_in_url,
    keep_when_signed_out,
    sign_writer,
)
from publishing.editions.archive_visibility import POSTED_AS, has_been_public
from publishing.editions.find_edition import parse_issue_id, progress_url
from publishing.editions.versions import versions_of
from publishing.editions.welcome_letter import has_title_of_welcome_letter
from publishing.flash_messages import notes_of
from publishing.models import Draft
from publishing.snippets.save_snippet import markup_by_name
from publishing.test_letters.send_test_letter import last_test_address
from subscribers.fields.own_fields import load_fields
from subscribers.importing.import_task import running_import
from subscribers.links.see_other import see_other

PREVIEWS = {
    "desktop": gettext_lazy("Desktop"),
    "phone": gettext_lazy("Phone"),
    "dark": gettext_lazy("Dark"),
    "text": gettext_lazy("Plain text"),
}
DEFAULT_PREVIEW = "desktop"
EMPTY = DraftFields()
DELETED = gettext_lazy(
    "Somebody deleted this draft. Your text is still here. Save it as a new draft."
)
# The fields that are beside the letter. The page shows the settings if another field has a fault.
IN_LETTER_PANEL = {"title", "preheader", "letter", "html_content", NON_FIELD_ERRORS}
OTHER_WRITER = gettext_lazy("Another author is now signed in. Nothing was saved under their name.")


class SaveForm(KeptForm):
    """The composer's form, with the name of the button that was pressed."""

    then = forms.ChoiceField(
        choices=[(name, name) for name in ("save", "check", "tags", HTML, MARKDOWN, *PREVIEWS)],
        required=False,
    )
    beside = forms.BooleanField(required=False)


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def write(request: HttpRequest) -> HttpResponse:
    """Show an empty composer, or redirect to the draft of a named issue.

    If the request names an issue without a draft, a POST creates the draft.
    """
    named = request.POST.get("issue") or request.GET.get("issue", "")
    draft = None
    if named:
        issue = issue_or_404(named)
        if request.method == "POST":
            draft = save_draft.open_for_issue(user_id_of(request), issue)
        else:
            draft = save_draft.open_draft_of_issue(issue)
    if draft is not None:
        return see_other(reverse("desk:draft", args=[draft.pk]))
    return fresh_page(request, named)


def fresh_page(request: HttpRequest, named: str, *, written_in: str = MARKDOWN) -> HttpResponse:
    """Show an empty composer, or the next version of a named issue.

    `written_in` is the format of an empty composer. If `written_in` is HTML, the next version is in
    HTML too. Raises `Http404`.
    """
    if not named:
        return composer_page(request, replace(EMPTY, format=written_in))
    issue = issue_or_404(named)
    preview = f"{reverse('desk:next_version_preview')}?issue={issue}&part="
    fields = save_draft.fields_for_next_version(issue)
    newest = versions_of(issue).defer(None).first()
    if newest is not None and written_in == HTML:
        # Show the HTML: a script may read it on this page, change a part of it, and publish the
        # result.
        html, text = newest.html_content, newest.text_content
        fields = replace(fields, format=HTML, letter=html, text=text)
    return composer_page(request, fields, issue=issue, preview=preview)


def issue_or_404(text: str) -> uuid.UUID:
    """Return the id of an issue that has a version. Raises `Http404` for other ids."""
    try:
        issue = parse_issue_id(text)
    except ValueError as error:
        raise Http404(str(error)) from None
    if not versions_of(issue).exists():
        raise Http404(_("There is no issue {issue}.").format(issue=issue))
    return issue


@keep_when_signed_out
@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def begin(request: HttpRequest) -> HttpResponse:
    """Save a new form for the first time, under its key.

    If `beside` is posted, always save a separate draft, even if the issue has an open draft.
    """
    if request.method != "POST":
        return see_other(reverse("desk:write"))
    form = SaveForm(request.POST)
    if refusal := _refusal(request, form):
        return refusal
    key = read_key(request.POST.getlist(FIELD), None)
    if isinstance(key, InvalidKey):
        return _refused(request, key.reason)
    save = save_draft.copy if form.cleaned_data["beside"] else save_draft.create
    result = save(user_id_of(request), key, form.written, issue=form.published_issue)
    return _respond(request, result, form.written, form.cleaned_data["then"])


@keep_when_signed_out
@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Show a draft; on POST, save the form if the draft still has the form's revision."""
    if request.method != "POST":
        found = get_draft_or_404(draft)
        if found.edition is not None:
            return see_other(progress_url(found.edition))
        return composer_page(request, found.fields, draft=found)
    form = SaveForm(request.POST)
    if refusal := _refusal(request, form):
        return refusal
    result = save_draft.save(draft, form.base_revision, form.written, by=user_id_of(request))
    return _respond(request, result, form.written, form.cleaned_data["then"])


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def to_markdown(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Ask before changing an HTML letter to Markdown, or on POST change its format."""
    found = save_draft.load_draft(pk=draft)
    if found is None or found.edition_id is not None:
        raise Http404(_("There is no such draft. It was deleted or published."))
    if request.method != "POST":
        return desk_page(request, "publishing/drafts/draft_to_markdown.html", {"draft": found})
    form, fields = RevisionForm(request.POST), replace(found.fields, format=MARKDOWN)
    form.full_clean()
    result = save_draft.save(draft, form.base_revision, fields, by=user_id_of(request))
    return _respond(request, result, fields)


def composer_page(
    request: HttpRequest,
    fields: DraftFields,
    *,
    draft: Draft | None = None,
    issue: uuid.UUID | None = None,
    key: str = "",
    preview: str = "",
    notice: str = "",
    form: DraftForm | None = None,
    already: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    """Render the composer; `preview` is the preview's URL without the query `part`.

    `form` is a refused form, whose errors are shown. `already` describes what was published before
    under the form's key.
    """
    if draft is not None:
        issue = draft.issue_id
        preview = f"{reverse('desk:draft_preview', args=[draft.pk])}?part="
    audience = audience_context(request, fields, issue)
    plan = audience["plan"]
    shown, is_welcome = request.GET.get("show", ""), has_title_of_welcome_letter(fields.title)
    # Do not render a text that is too long, because that would take minutes.
    rendered = EMPTY if too_long(fields) else fields
    stats, hints = composer_stats(rendered, draft, sees_readers=sees_readers(request))
    faults = {*(form.errors if form else ()), *(name for name, found in hints.items() if found)}
    return desk_page(
        request,
        "publishing/composer/composer.html",
        {
            "fields": fields,
            "video_address": VIDEO_ADDRESS,
            "names": " ".join(one.control for one in ISSUE_ATTRIBUTES),
            "draft": draft,
            "issue": issue,
            "key": key or fresh_key(),
            "writer": sign_writer(request.user),
            "stats": stats,
            "hints": hints,
            "test_address": last_test_address(request.user),
            "welcome_url": reverse("desk:welcome") if is_welcome else "",
            **audience,
            "plan_title": plain_title(plan.newest) if plan else "",
            "importing": running_import(),
            "is_public": has_been_public(issue),
            "posted_archive": POSTED_AS[fields.archive],
            "merge_fields": _offered_fields(),
            "snippets": markup_by_name(fields.format),
            "previews": PREVIEWS,
            "preview": preview,
            "pane": "settings" if faults - IN_LETTER_PANEL else "preview" if shown else "letter",
            "shown": shown if shown in PREVIEWS else DEFAULT_PREVIEW,
            "signed_out": "signed_out" in request.GET,
            "notes": notes_of(request),
            "notice": notice,
            "form": form,
            "already": already,
            **(already or {}),
            "may_publish": request.user.has_perm(PUBLISH),
        },
        status=status,
    )


def shown_again(
    request: HttpRequest, form: DraftForm | None = None, *, notice: str = "", status: int = 200
) -> HttpResponse:
    """Show the posted fields in the composer again, with the same key if it is valid.

    The page shows the `notice`, and the errors of `form` if a form is given.
    """
    posted = form or DraftForm(request.POST)
    if form is None:
        posted.full_clean()
    key = read_key(request.POST.getlist(FIELD), request.headers.get(HEADER))
    named = draft_in_url(request)
    draft = save_draft.load_draft(pk=named) if named else None
    if draft is not None:
        # Keep the posted revision: with the newest revision, a save from this page would overwrite
        # newer changes.
        draft.revision = posted.base_revision
    return composer_page(
        request,
        posted.written,
        draft=draft,
        issue=posted.published_issue,
        key="" if isinstance(key, InvalidKey) else key,
        notice=notice,
        form=form,
        status=status,
    )


def _respond(
    request: HttpRequest, result: save_draft.SaveResult, fields: DraftFields, then: str = ""
) -> HttpResponse:
    if result.draft is not None:
        if result.is_saved:
            return _saved(request, result.draft, fields, then)
        return _conflict(request, result.draft, fields)
    if wants_json(request):
        return _json(404, sentence=str(DELETED), gone=True, copy_key=fresh_key())
    return composer_page(request, fields, notice=str(DELETED), status=404)


def _json(status: int, **values: Any) -> JsonResponse:
    return JsonResponse(values, status=status, headers={"Cache-Control": "no-store"})


def _saved(request: HttpRequest, draft: Draft, fields: DraftFields, then: str) -> HttpResponse:
    address = reverse("desk:draft", args=[draft.pk])
    if wants_json(request):
        stats, hints = composer_stats(fields, draft, sees_readers=sees_readers(request))
        return _json(
            200,
            id=str(draft.pk),
            revision=draft.revision,
            address=address,
            saved_at=saved_clock(draft),
            **stats,
            hints={
                name: render_to_string("publishing/composer/hints.html", {"hints": of_field})
                for name, of_field in hints.items()
            },
        )
    match then:
        case "markdown" if fields.format == HTML and fields.letter.strip():
            return see_other(reverse("desk:draft_to_markdown", args=[draft.pk]))
        case "html" | "markdown" if fields.format != then:
            letter = render_markdown(fields.letter) if then == HTML else fields.letter
            fields = replace(fields, format=then, letter=letter)
            result = save_draft.save(draft.pk, draft.revision, fields, by=user_id_of(request))
            if not result.is_saved:
                return _respond(request, result, fields)
        case "check":
            return see_other(reverse("desk:check", args=[draft.pk]))
        case "tags":
            return see_other(f"{address}?count_tags#id_goes_to")
        case shown if shown in PREVIEWS:
            return see_other(f"{address}?show={shown}#preview")
    return see_other(address)


def _conflict(request: HttpRequest, draft: Draft, fields: DraftFields) -> HttpResponse:
    """Answer 409, because somebody else changed or published the draft.

    The page shows both versions. If the published version equals the posted form, redirect to the
    progress page.
    """
    edition, present = draft.edition, draft.fields
    progress = progress_url(edition) if edition else ""
    if edition and present == fields and not wants_json(request):
        return see_other(progress)
    if not wants_json(request):
        return conflict_page(request, draft, fields)
    return _json(
        409,
        sentence=describe_conflict(draft).sentence,
        address=progress or reverse("desk:draft", args=[draft.pk]),
        published=edition is not None,
        revision=draft.revision,
        present=form_values(present),
        copy_key=fresh_key(),
    )


def _refusal(request: HttpRequest, form: SaveForm) -> HttpResponse | None:
    valid = form.is_valid()
    if wants_json(request) and form.author not in (None, user_id_of(request)):
        # Refuse to save: the text belongs to the author who was signed in before.
        return _json(403, sentence=str(OTHER_WRITER))
    if valid:
        return None
    notice = _("Nothing was saved, and your text is still here.")
    if wants_json(request):
        return _json(400, sentence=" ".join((first_error(form), notice)))
    return shown_again(request, form, notice=notice, status=400)


def _refused(request: HttpRequest, sentence: str) -> HttpResponse:
    if wants_json(request):
        return _json(400, sentence=sentence)
    return shown_again(request, notice=sentence, status=400)


def _offered_fields() -> list[str]:
    """List the merge fields that the composer offers, with their braces."""
    offered = [
        f"{{{{ {name} }}}}"
        for field in load_fields()
        for name in ([field.name, field.with_fallback] if field.fallback else [field.name])
    ]
    return [*offered, "{{ email }}", "{{ archive_url }}"]
