"""
The composer: write, and nothing of it is lost.

Every POST saves first and does what its button says afterwards. A browser is led on (303); the
page's script asks for JSON and is told what became of the save.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from delivery.humanise import clock
from delivery.models import Edition, Newsletter
from delivery.reader_fields import READER_FIELDS
from idempotency.key import FIELD, BadKey, fresh_key, key_given
from publishing.composer.composer_stats import beside
from publishing.content.draft_content import HTML, MARKDOWN, DraftContent
from publishing.content.edition_content import plain_title
from publishing.content.markdown import render_markdown
from publishing.desk_access import PUBLISH, author_of, desk_page, may_write, sees_readers
from publishing.drafts import drafts, unsent_forms
from publishing.drafts.draft_diff import compared
from publishing.drafts.draft_form import (
    is_plain,
    revision_posted,
    why_too_long,
    wording_posted,
)
from publishing.drafts.drafts import (
    Conflict,
    DraftFields,
    Gone,
    Published,
    Saved,
)
from publishing.drafts.keep_signed_out import draft_named, issue_there, kept_when_signed_out
from publishing.drafts.unsent_forms import WRITER_FIELD, signed_writer, writer_of
from publishing.editions.parse_edition_name import parse_issue_id
from publishing.editions.status import load_status
from publishing.editions.versions import audience_choices, plan_version
from publishing.flash_messages import notes_of
from publishing.models import Draft, Issue
from publishing.script_request import wants_json
from publishing.test_letters.test_letters import last_test_address
from subscribers.audience import confirmed
from subscribers.links.see_other import see_other

SHOWN = ("desktop", "phone", "text", "dark")
MERGE_FIELDS = (
    *(f"{{{{ {name} }}}}" for field in READER_FIELDS for name in (field.name, field.with_fallback)),
    "{{ email }}",
    "{{ archive_url }}",
)
EMPTY = DraftFields(DraftContent("", "", MARKDOWN, "", ""))


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def write(request: HttpRequest) -> HttpResponse:
    """
    A fresh composer; nothing is stored before its first save.

    With an issue named, the next version of that: its open draft, or its newest words in a fresh
    form. POST begins that draft at once.
    """
    said = request.POST.get("issue") or request.GET.get("issue")
    if not said:
        return composer_page(request, EMPTY)
    try:
        issue = parse_issue_id(said)
        if request.method == "POST":
            draft = drafts.open_for_issue(author_of(request), issue)
            return see_other(reverse("desk:draft", args=[draft.pk]))
        there = drafts.open_draft_of_issue(issue)
        if there is not None:
            return see_other(reverse("desk:draft", args=[there.pk]))
        preview = f"{reverse('desk:next_version_preview')}?issue={issue}&part="
        wording = drafts.wording_for_issue(issue)
        return composer_page(request, wording, issue=issue, preview=preview)
    except (ValueError, Issue.DoesNotExist) as error:
        raise Http404(str(error)) from None


@kept_when_signed_out
@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def begin(request: HttpRequest) -> HttpResponse:
    """The first save of a fresh form, under its key; `beside` saves a copy of another draft."""
    if request.method != "POST":
        return see_other(reverse("desk:write"))
    if _is_somebody_elses(request):
        return _not_theirs()
    wording = wording_posted(request.POST.dict())
    key = key_given(request.POST.getlist(FIELD), None)
    if isinstance(key, BadKey):
        return _refused(request, wording, key.reason)
    if sentence := why_too_long(wording.written):
        return _refused(request, wording, sentence, key=key)
    author, issue = author_of(request), issue_there(request)
    if is_plain(request.POST.dict()):
        return _pasted(request, drafts.paste(author, key, wording, issue=issue), wording, key)
    make = drafts.copy if request.POST.get("beside") else drafts.begin
    return _answered(request, make(author, key, wording, issue=issue), wording)


def _pasted(
    request: HttpRequest, answer: drafts.Answer, wording: DraftFields, key: str
) -> HttpResponse:
    """Answer the form for finished HTML; published words lead to their edition."""
    match answer:
        case Saved():
            unsent_forms.forget(author_of(request), key)
        case Published(draft) if draft.edition and drafts.fields_of_draft(draft) == wording:
            return see_other(_progress_of(draft.edition))
    return _answered(request, answer, wording)


@kept_when_signed_out
@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """One draft: GET shows it, POST saves what is in the form over the revision it names."""
    found = drafts.load_draft(draft)
    if request.method != "POST":
        if found is None:
            raise Http404("There is no such draft. It was thrown away, or never saved.")
        if found.edition is not None:
            return see_other(_progress_of(found.edition))
        return composer_page(request, drafts.fields_of_draft(found), draft=found)
    if _is_somebody_elses(request):
        return _not_theirs()
    wording = wording_posted(request.POST.dict())
    if sentence := why_too_long(wording.written):
        return _refused(request, wording, sentence, draft=found)
    revision = revision_posted(request.POST.dict())
    answer = drafts.save(draft, revision, wording, by=author_of(request))
    return _answered(request, answer, wording)


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """GET asks, POST throws the draft away."""
    found = drafts.load_draft(draft)
    if request.method != "POST":
        if found is None:
            raise Http404("There is no such draft. It was thrown away, or never saved.")
        if found.edition is not None:
            return see_other(_progress_of(found.edition))
        return desk_page(request, "publishing/draft_delete.html", {"draft": found})
    if drafts.delete_draft(draft, by=author_of(request)):
        messages.info(request, f"The draft “{found or 'Untitled'}” is thrown away.")
    else:
        messages.warning(request, "There was no such draft to throw away; nothing was changed.")
    return see_other(reverse("desk:issues"))


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def to_markdown(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """GET asks whether a letter in HTML is to be Markdown from now on; POST makes it so."""
    found = drafts.load_draft(draft)
    if found is None or found.edition_id is not None:
        raise Http404("There is no such draft. It was thrown away, or published.")
    if request.method != "POST":
        return desk_page(request, "publishing/draft_to_markdown.html", {"draft": found})
    wording = drafts.fields_of_draft(found)
    now = replace(wording, written=replace(wording.written, format=MARKDOWN))
    revision = revision_posted(request.POST.dict())
    return _answered(request, drafts.save(draft, revision, now, by=author_of(request)), now)


def composer_page(
    request: HttpRequest,
    wording: DraftFields,
    *,
    draft: Draft | None = None,
    issue: uuid.UUID | None = None,
    key: str = "",
    preview: str = "",
    notice: str = "",
    status: int = 200,
) -> HttpResponse:
    """
    The composer with these words in it. `preview` is where they are shown as a letter, up to the
    name of the part; of a draft it is known.
    """
    if draft is not None:
        issue = draft.issue_id
        preview = f"{reverse('desk:draft_preview', args=[draft.pk])}?part="
    place = plan_version(issue) if issue is not None else None
    everyone = place.everyone if place else confirmed().count()
    shown = request.GET.get("show", "")
    return desk_page(
        request,
        "publishing/composer.html",
        {
            "words": wording.written,
            "wording": wording,
            "draft": draft,
            "issue": issue,
            "key": key or fresh_key(),
            "writer": signed_writer(request.user),
            "beside": beside(wording.written, draft, sees_readers=sees_readers(request)),
            "test_address": last_test_address(request.user),
            "place": place,
            "place_title": plain_title(place.newest) if place else "",
            "readers": everyone if place is None else place.readers_of(wording.goes_to),
            "choices": audience_choices(place, everyone),
            "sender": settings.FROM_EMAIL,
            "merge_fields": MERGE_FIELDS,
            "previews": SHOWN,
            "preview": preview,
            "shown": shown if shown in SHOWN else SHOWN[0],
            "signed_out": "signed_out" in request.GET,
            "notes": notes_of(request),
            "notice": notice,
            "may_publish": request.user.has_perm(PUBLISH),
        },
        status=status,
    )


def form_again(request: HttpRequest, *, notice: str, status: int) -> HttpResponse:
    """The posted words in the composer again, after something kept them from being looked at."""
    key = key_given(request.POST.getlist(FIELD), None)
    named = draft_named(request)
    draft = drafts.load_draft(named) if named else None
    if draft is not None:
        # As its author saw it: a save from here must not pass for one of the newest words.
        draft.revision = revision_posted(request.POST.dict())
    return composer_page(
        request,
        wording_posted(request.POST.dict()),
        draft=draft,
        issue=issue_there(request),
        key="" if isinstance(key, BadKey) else key,
        notice=notice,
        status=status,
    )


def _answered(request: HttpRequest, answer: drafts.Answer, wording: DraftFields) -> HttpResponse:
    match answer:
        case Saved(draft):
            return _saved(request, draft, wording)
        case Conflict(draft) | Published(draft):
            return _met_others(request, draft, wording)
        case Gone():
            return _gone(request, wording)


def _saved(request: HttpRequest, draft: Draft, wording: DraftFields) -> HttpResponse:
    address = reverse("desk:draft", args=[draft.pk])
    if wants_json(request):
        return JsonResponse(
            {
                "id": str(draft.pk),
                "revision": draft.revision,
                "address": address,
                "saved_at": _clock(draft),
                **beside(wording.written, draft, sees_readers=sees_readers(request)).as_json(),
            },
            headers={"Cache-Control": "no-store"},
        )
    then = request.POST.get("then", "")
    if then == "html" and draft.format == MARKDOWN:
        html = replace(wording.written, format=HTML, letter=render_markdown(wording.written.letter))
        now = replace(wording, written=html)
        answer = drafts.save(draft.pk, draft.revision, now, by=author_of(request))
        if not isinstance(answer, Saved):
            return _answered(request, answer, now)
    if then == "markdown" and draft.format == HTML:
        return see_other(reverse("desk:draft_to_markdown", args=[draft.pk]))
    if then == "check":
        return see_other(reverse("desk:check", args=[draft.pk]))
    return see_other(f"{address}?show={then}#preview" if then in SHOWN else address)


def _met_others(request: HttpRequest, draft: Draft, wording: DraftFields) -> HttpResponse:
    """409: the draft moved on meanwhile, or was published. Both wordings are on the page."""
    published = draft.edition
    progress = _progress_of(published) if published else ""
    if wants_json(request):
        facts = {
            "sentence": _sentence(draft),
            "address": progress or reverse("desk:draft", args=[draft.pk]),
            "published": published is not None,
            "revision": draft.revision,
            "present": _as_posted(drafts.fields_of_draft(draft)),
            "copy_key": fresh_key(),
        }
        return JsonResponse(facts, status=409, headers={"Cache-Control": "no-store"})
    return desk_page(
        request,
        "publishing/draft_conflict.html",
        {
            "draft": draft,
            "sentence": _sentence(draft),
            "published": published,
            "was_done": load_status(published.pk).was_done if published else "",
            "progress": progress,
            "parts": compared(drafts.fields_of_draft(draft), wording),
            "fields": _as_posted(wording),
            "copy_key": fresh_key(),
            "writer": signed_writer(request.user),
            "title": wording.written.title,
        },
        status=409,
    )


def _gone(request: HttpRequest, wording: DraftFields) -> HttpResponse:
    sentence = "This draft was thrown away meanwhile. Your words are still here; save them as a new"
    if wants_json(request):
        facts = {"sentence": f"{sentence} one.", "gone": True, "copy_key": fresh_key()}
        return JsonResponse(facts, status=404, headers={"Cache-Control": "no-store"})
    return composer_page(request, wording, notice=f"{sentence} one.", status=404)


def _refused(
    request: HttpRequest,
    wording: DraftFields,
    sentence: str,
    *,
    draft: Draft | None = None,
    key: str = "",
) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"sentence": sentence}, status=400)
    if draft is not None:
        draft.revision = revision_posted(request.POST.dict())
    return composer_page(request, wording, draft=draft, key=key, notice=sentence, status=400)


def _is_somebody_elses(request: HttpRequest) -> bool:
    """
    Whether a page still open saves by itself what another person wrote, who was signed in before.

    A person who presses a button knows whose words they save; a script would put them under the
    name of whoever signed in since.
    """
    writer = writer_of(request.POST.get(WRITER_FIELD, ""))
    return wants_json(request) and writer is not None and writer != author_of(request)


def _not_theirs() -> HttpResponse:
    sentence = "Somebody else is signed in by now. Nothing was saved under their name."
    return JsonResponse({"sentence": sentence}, status=403, headers={"Cache-Control": "no-store"})


def _sentence(draft: Draft) -> str:
    at = _clock(draft)[:5]
    if draft.edition is not None:
        done = load_status(draft.edition.pk).was_done
        return (
            f"This draft was {done} meanwhile, as version {draft.edition.version} of its issue. "
            "What you wrote since is not in it. It is still here; save it as a copy."
        )
    return (
        f"This draft was changed in another tab at {at}. Neither version is lost. "
        "Compare them, or save yours as a copy."
    )


def _as_posted(wording: DraftFields) -> dict[str, str]:
    """By the names of the form's fields."""
    written = wording.written
    return {
        "title": written.title,
        "preheader": written.preheader,
        "format": written.format,
        "letter": written.letter,
        "text_content": written.text,
        "goes_to": wording.goes_to,
        "unlisted": "on" if wording.unlisted else "",
    }


def _progress_of(edition: Edition) -> str:
    address = reverse("desk:progress", args=[edition.issue_id])
    return f"{address}?version={edition.version}"


def _clock(draft: Draft) -> str:
    return clock(draft.saved_at, Newsletter.objects.the_one().zone)
