"""Pages that delete a draft, and that compare two versions of it."""

import uuid
from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from delivery.humanise import clock
from delivery.models import Newsletter
from idempotency.key import fresh_key
from publishing.content.draft_content import DraftFields
from publishing.content.text_diff import diff_fields
from publishing.desk_access import desk_page, may_write, user_id_of
from publishing.display_name import called
from publishing.drafts import save_draft
from publishing.drafts.draft_form import fields_to_compare, form_values
from publishing.drafts.keep_signed_out import sign_writer
from publishing.editions.edition_status import load_status
from publishing.editions.find_edition import progress_url
from publishing.models import Draft
from subscribers.links.see_other import see_other


@dataclass(frozen=True, slots=True)
class Conflict:
    """What happened to a draft, and the name of the other version."""

    heading: str
    sentence: str
    other_heading: str


def get_draft_or_404(draft: uuid.UUID) -> Draft:
    """Return the draft that a URL names. Raises `Http404`."""
    found = save_draft.load_draft(pk=draft)
    if found is None:
        raise Http404(_("There is no such draft. It was deleted or never saved."))
    return found


@may_write
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """Ask before deleting a draft, or on POST delete it."""
    if request.method != "POST":
        found = get_draft_or_404(draft)
        if found.edition is not None:
            return see_other(progress_url(found.edition))
        return desk_page(request, "publishing/drafts/draft_delete.html", {"draft": found})
    title = str(save_draft.load_draft(pk=draft) or _("Untitled"))
    if save_draft.delete_draft(draft, by=user_id_of(request)):
        messages.info(request, _("The draft “{title}” was deleted.").format(title=title))
    else:
        messages.warning(request, _("There is no such draft. Nothing was changed."))
    return see_other(reverse("desk:issues"))


def conflict_page(request: HttpRequest, draft: Draft, fields: DraftFields) -> HttpResponse:
    """Show the posted `fields` beside the other version, with status 409."""
    conflict = describe_conflict(draft)
    return desk_page(
        request,
        "publishing/drafts/draft_conflict.html",
        {
            "draft": draft,
            "sentence": conflict.sentence,
            "heading": conflict.heading,
            "progress": progress_url(draft.edition) if draft.edition else "",
            "other_heading": conflict.other_heading,
            "parts": list(
                diff_fields(fields_to_compare(draft.fields), fields_to_compare(fields)).items()
            ),
            "fields": form_values(fields),
            "copy_key": fresh_key(),
            "writer": sign_writer(request.user),
        },
        status=409,
    )


def describe_conflict(draft: Draft) -> Conflict:
    """Say what happened to a draft that cannot be saved."""
    edition = draft.edition
    if edition is None:
        return Conflict(
            _("Two versions of one draft"),
            _(
                "This draft was changed in another tab at {time}. Both versions are kept. Compare "
                "them, or save yours as a copy."
            ).format(time=saved_clock(draft)[:5]),
            _("The other, saved {time} by {author}").format(
                time=saved_clock(draft), author=called(draft.saved_by)
            ),
        )
    if load_status(edition.pk).counts.has_started:
        return Conflict(
            _("This draft was published"),
            _(
                "This draft was published as version {version} of its issue. Your newer text is "
                "not in it, but it is still here. Save it as a copy."
            ).format(version=edition.version),
            _("Published"),
        )
    return Conflict(
        _("This draft was scheduled"),
        _(
            "This draft was scheduled as version {version} of its issue. Your newer text is not in "
            "it, but it is still here. Save it as a copy."
        ).format(version=edition.version),
        _("Scheduled"),
    )


def saved_clock(draft: Draft) -> str:
    """Return the time of the last save, in the newsletter's time zone."""
    return clock(draft.saved_at, Newsletter.objects.get_current().zone)
