"""Decide where readers find an issue: in the archive, unlisted, or only in mails."""

import uuid
from dataclasses import replace

from django.db import transaction
from django.utils.translation import gettext as _

from publishing.activity.record_issue_activity import record_listing
from publishing.content.draft_content import build_content
from publishing.content.edition_content import Content
from publishing.editions.audience import EVERY_READER, NOBODY, TagChoice, choice_of
from publishing.editions.versions import public_editions
from publishing.models import Draft, Issue, Visibility

# The form posts one of these values in its field `unlisted`. This field was a checkbox in earlier
# releases.
POSTED_AS = {"": "", Visibility.PUBLIC: "off", Visibility.UNLISTED: "on", Visibility.NONE: "none"}
# The values are in order: the most public is first, the strictest is last. If the author chooses
# nothing, an issue may become stricter, but never more public.
_STRICTNESS = (Visibility.PUBLIC, Visibility.UNLISTED, Visibility.NONE)


def has_been_public(issue: uuid.UUID | None) -> bool:
    """Return whether an issue had a public version, so that readers may know its page."""
    return issue is not None and public_editions().filter(issue=issue).exists()


def visibility_after(
    chosen: str, tags: TagChoice, issue: Issue | None, *, is_public: bool
) -> Visibility:
    """Return where readers find an issue after its next version is published.

    `chosen` is empty if the author chose nothing. Without a choice, the issue becomes unlisted if
    tags limit its audience. If an earlier version was public (`is_public`), the only possible
    change is from public to unlisted.
    """
    present = issue.visibility if issue else Visibility.PUBLIC
    if is_public:
        is_stricter = (present, chosen) == (Visibility.PUBLIC, Visibility.UNLISTED)
        return Visibility.UNLISTED if is_stricter else present
    if chosen:
        return Visibility(chosen)
    default = Visibility.PUBLIC if tags == EVERY_READER else Visibility.UNLISTED
    return max(present, default, key=_STRICTNESS.index)


def visibility_of_draft(draft: Draft) -> Visibility:
    """Return where readers will find a draft's issue after the draft is published."""
    fields = draft.fields
    tags = choice_of(fields.with_tags, fields.without_tags)
    is_public = has_been_public(draft.issue_id)
    return visibility_after(fields.archive, tags, draft.issue, is_public=is_public)


def content_of(draft: Draft) -> Content:
    """Return a draft's content. If the issue gets a page, the mail links to the page.

    The draft's choice does not always apply: a later version of a public issue cannot remove the
    issue's page.
    """
    has_page = visibility_of_draft(draft) is not Visibility.NONE
    return replace(build_content(draft.fields), has_page=has_page)


def page_refusal(visibility: Visibility, goes_to: str) -> str:
    """Return why an issue must have a page; empty if it needs no page."""
    if visibility is Visibility.NONE and goes_to == NOBODY:
        return _(
            "An issue that goes to nobody has only its page. Make it public or unlisted, or choose "
            "who gets it."
        )
    return ""


def archive_sentence(visibility: Visibility) -> str:
    """Return a sentence that says where readers find an issue on the web."""
    match visibility:
        case Visibility.PUBLIC:
            return _("Everyone can read it in the archive.")
        case Visibility.UNLISTED:
            return _("Anyone with the link can read it. The archive does not list it.")
        case Visibility.NONE:
            return _("It has no page on the web.")


def columns_of(visibility: Visibility) -> dict[str, bool]:
    """Return the columns of an issue with this visibility."""
    is_public, has_page = visibility is Visibility.PUBLIC, visibility is not Visibility.NONE
    return {"unlisted": not is_public, "has_page": has_page}


def set_visibility(author: uuid.UUID, issue: uuid.UUID, visibility: Visibility) -> bool:
    """Change where readers find an issue; return whether the issue changed.

    Only a public issue can become unlisted. An issue without a page cannot become unlisted, because
    it would get a page and so become more public.
    """
    columns = columns_of(visibility)
    issues = Issue.objects.filter(pk=issue)
    if visibility is Visibility.UNLISTED:
        issues = issues.filter(unlisted=False)
    with transaction.atomic():
        changed = issues.exclude(**columns).update(**columns)
        if changed:
            record_listing(author, issue, unlisted=visibility is Visibility.UNLISTED)
    return bool(changed)
