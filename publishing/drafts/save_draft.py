"""Create, save, copy, reopen and delete drafts.

Each save names the revision that the author has edited.
"""

import uuid
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import NamedTuple

from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delivery.issue_attributes import CONTENT_ATTRIBUTES
from delivery.models import Edition
from idempotency.key import fresh_key
from publishing.activity.record_issue_activity import record_draft_activity
from publishing.content.draft_content import (
    HTML,
    MARKDOWN,
    DraftFields,
    build_content,
    content_as_written,
)
from publishing.content.edition_content import Content
from publishing.display_name import is_there
from publishing.editions.archive_visibility import visibility_after
from publishing.editions.audience import TagChoice
from publishing.editions.edition_status import load_status
from publishing.editions.versions import default_goes_to, versions_of
from publishing.models import Draft, Issue, Visibility
from subscribers.fields.find_tags import hold_tags

IS_A_DRAFT = gettext_lazy("The issue is a draft again, with all its content.")
HAS_A_DRAFT = gettext_lazy(
    "The issue already has an open draft. The content that was called back stays with this version."
)
# If an author has this number of drafts that were saved only once, `keep_signed_out` creates no
# more.
MOST_UNTOUCHED = 20


class SaveResult(NamedTuple):
    """The draft after a save (None if it was deleted), and whether the text is saved."""

    draft: Draft | None
    is_saved: bool = False


class TooManyUntouchedError(Exception):
    """The author has too many drafts that were saved only once."""


def load_draft(**lookup: object) -> Draft | None:
    """Return the draft with this `pk` or `key`, open or published."""
    return Draft.objects.select_related("issue", "saved_by", "edition").filter(**lookup).first()


def lock_by_key(author: uuid.UUID, key: str) -> Draft | None:
    """Until the transaction ends, lock the author's draft with this key.

    If the author has no draft with this key, lock the key itself.
    """
    begun = Draft.objects.select_for_update(of=("self",)).filter(key=key, created_by=author)
    draft = begun.first()
    if draft is None:
        _lock_key(author, key)
        draft = begun.first()
    return draft


def link_to_edition(draft: Draft, edition: Edition, *, copy_for: uuid.UUID | None) -> None:
    """Link a locked draft to its edition.

    If the draft has text that was not published, copy the text to a new draft of the author
    `copy_for`.
    """
    Draft.objects.filter(pk=draft.pk, edition=None).update(edition=edition)
    if copy_for is not None and not _makes(draft.fields, edition):
        copy(copy_for, fresh_key(), draft.fields, issue=draft.issue_id)


def open_draft_of_issue(issue: uuid.UUID) -> Draft | None:
    """Return an issue's open draft; if it has several, the draft saved last."""
    drafts = Draft.objects.filter(issue=issue, edition=None).select_related("issue", "saved_by")
    return drafts.order_by("-saved_at", "-pk").first()


def title_with_tag(tag: int) -> str:
    """Return the title of an open draft that uses a tag; empty if no draft uses it."""
    uses = Q(with_tags__contains=[tag]) | Q(without_tags__contains=[tag])
    draft = Draft.objects.filter(uses, edition=None).first()
    return str(draft) if draft else ""


def may_name_field(key: str) -> bool:
    """Return whether an open draft has the key of a merge field in any of its texts."""
    names = (Q((f"{one.name}__contains", key)) for one in CONTENT_ATTRIBUTES if one.has_fields)
    return Draft.objects.filter(reduce(or_, names), edition=None).exists()


def create(
    author: uuid.UUID, key: str, fields: DraftFields, *, issue: uuid.UUID | None = None
) -> SaveResult:
    """Save a new form as a draft; repeating this with the same key adds no draft.

    If the issue already has an open draft for its next version, no second draft is created.
    """
    with transaction.atomic():
        if issue is not None:
            # Lock the draft or its key before the issue, as publishing does. In the opposite order,
            # a save and a publication could deadlock.
            lock_by_key(author, key)
            _lock_issue(issue)
            other = open_draft_of_issue(issue)
            if other is not None and other.key != key:
                return _compare_with(other, fields)
        return copy(author, key, fields, issue=issue)


def copy(
    author: uuid.UUID, key: str, fields: DraftFields, *, issue: uuid.UUID | None = None
) -> SaveResult:
    """Create a draft under a key; if an edition has the key, link the draft to it."""
    with transaction.atomic():
        hold_tags([*fields.with_tags, *fields.without_tags])
        _lock_key(author, key)
        made = Edition.objects.filter(author_id=author, idempotency_key=key).first()
        fresh = Draft(
            key=key,
            issue_id=issue,
            created_by_id=author,
            saved_by_id=author,
            edition=made,
            **(_fields_behind(made, fields) if made else fields).columns(),
        )
        # If two concurrent saves use the same key, the second waits here for the first.
        Draft.objects.bulk_create([fresh], ignore_conflicts=True)
        draft = load_draft(key=key)
        if draft is None:
            return SaveResult(None)
        if draft.pk == fresh.pk and made is None:
            record_draft_activity("begin_draft", author, draft)
            return SaveResult(draft, is_saved=True)
        return _compare_with(draft, fields)


def keep_signed_out(
    author: uuid.UUID,
    key: str,
    fields: DraftFields,
    *,
    issue: uuid.UUID | None = None,
    shown: uuid.UUID | None = None,
) -> Draft:
    """Save a signed-out author's text as a draft. Raises `TooManyUntouchedError`."""
    with transaction.atomic():
        # Without the lock, two concurrent posts could exceed the limit.
        get_user_model().objects.select_for_update(no_key=True).get(pk=author)
        still_open = Draft.objects.filter(edition=None)
        of_author = Q(created_by=author) | Q(pk=shown)
        found = still_open.filter(of_author, issue=issue, **fields.columns()).first()
        if found is not None:
            return found
        if still_open.filter(created_by=author, revision=1).count() >= MOST_UNTOUCHED:
            raise TooManyUntouchedError(
                ngettext(
                    "You already have {n} draft that was saved only once, so Homing created no "
                    "new one.",
                    "You already have {n} drafts that were saved only once, so Homing created "
                    "no new one.",
                    MOST_UNTOUCHED,
                ).format(n=MOST_UNTOUCHED)
            )
        for free in (key, fresh_key()):
            draft = copy(author, free, fields, issue=issue).draft
            if draft is not None and draft.fields == fields:
                return draft
        raise AssertionError("a new key already has a draft")


def save(draft: uuid.UUID, from_revision: int, fields: DraftFields, *, by: uuid.UUID) -> SaveResult:
    """Save the fields if the draft still has the revision `from_revision`."""
    with transaction.atomic():
        # Lock the tags. A concurrent deletion of a tag either waits for this save or has already
        # ended.
        hold_tags([*fields.with_tags, *fields.without_tags])
        before = Draft.objects.filter(pk=draft).values_list("saved_by_id", flat=True).first()
        changed = (
            Draft.objects.filter(pk=draft, revision=from_revision, edition=None)
            .exclude(**fields.columns())
            .update(revision=F("revision") + 1, saved_by=by, saved_at=Now(), **fields.columns())
        )
        # The update has locked the row until the transaction ends, so this query reads the values
        # that were just written.
        present = load_draft(pk=draft)
        if present is None:
            return SaveResult(None)
        if not changed:
            return _compare_with(present, fields)
        if before != by:
            record_draft_activity("continue_draft", by, present)
        return SaveResult(present, is_saved=True)


def open_for_issue(author: uuid.UUID | None, issue: uuid.UUID) -> Draft:
    """Return the draft of an issue's next version; create it if it does not exist.

    Raises `Issue.DoesNotExist`.
    """
    with transaction.atomic():
        locked = _lock_issue(issue)
        draft = open_draft_of_issue(issue)
        if draft is not None:
            return draft
        draft = Draft.objects.create(
            issue=locked,
            created_by_id=author,
            saved_by_id=author,
            **fields_for_next_version(issue).columns(),
        )
        draft.refresh_from_db(fields=["created_at", "saved_at"])
        if author is not None:
            record_draft_activity("begin_draft", author, draft)
        return draft


def fields_for_next_version(issue: uuid.UUID) -> DraftFields:
    """Return the fields of an issue's newest version. Raises `Issue.DoesNotExist`."""
    newest = versions_of(issue).defer(None).select_related("draft", "issue").first()
    if newest is None:
        raise Issue.DoesNotExist(_("There is no issue {issue}.").format(issue=issue))
    words = replace(
        _words_behind(newest),
        goes_to=default_goes_to(issue),
        # If the issue has no page, the draft starts with the choice “no page”, so that the letter
        # has no link to a page.
        archive="" if newest.issue.has_page else Visibility.NONE.value,
        without_note=False,
    )
    return _with_tags_of(newest, words)


def reached_nobody(edition: int) -> bool:
    """Return whether an edition was cancelled and certainly no copy of it was sent."""
    counts = load_status(edition).counts
    is_cancelled = counts.control == "cancelled" and not counts.is_transactional
    return is_cancelled and not (counts.sent or counts.unknown or counts.waiting)


def restore_draft(edition: Edition) -> str:
    """Reopen the newest edition as a draft if it reached nobody.

    Return a sentence about the draft; empty if the edition was not reopened.
    """
    if not reached_nobody(edition.pk):
        return ""
    with transaction.atomic():
        # With this lock, a concurrent second caller waits, and then finds the draft that the first
        # caller made.
        _lock_issue(edition.issue_id)
        newest = versions_of(edition.issue_id).first()
        if newest is None or newest.pk != edition.pk:
            return ""
        if open_draft_of_issue(edition.issue_id) is not None:
            return str(HAS_A_DRAFT)
        author = newest.author_id if is_there(newest.author_id) else None
        draft = open_for_issue(author, edition.issue_id)
        before = Draft.objects.filter(edition=newest).first()
        # Keep the author who saved the draft last, because another author may have published it.
        kept = {"address": before.address, "saved_by": before.saved_by_id} if before else {}
        Draft.objects.filter(pk=draft.pk).update(goes_to=newest.goes_to, **kept)
    return str(IS_A_DRAFT)


def delete_draft(draft: uuid.UUID, *, by: uuid.UUID) -> bool:
    """Delete an open draft, and record this; False if it is gone or was published."""
    with transaction.atomic():
        found = Draft.objects.select_for_update().filter(pk=draft, edition=None).first()
        if found is None:
            return False
        record_draft_activity("delete_draft", by, found)
        found.delete()
        return True


def _fields_behind(edition: Edition, posted: DraftFields) -> DraftFields:
    """Return the `posted` fields if they match the edition, else the edition's fields."""
    words = replace(
        posted if _makes(posted, edition) else _words_behind(edition),
        goes_to=edition.goes_to,
        archive=_archive_behind(edition, posted.archive),
        without_note=edition.without_note,
    )
    return _with_tags_of(edition, words)


def _archive_behind(edition: Edition, posted: str) -> str:
    """Return `posted`, or version 1's published visibility if the two differ."""
    published = edition.issue.published_visibility
    default = visibility_after("", TagChoice.of(edition), None, is_public=False)
    is_same = edition.version > 1 or (posted or default) == published
    return posted if is_same else published.value


def _with_tags_of(edition: Edition, fields: DraftFields) -> DraftFields:
    tags = TagChoice.of(edition)
    with_tags, without_tags = (tuple(sorted(ids)) for ids in (tags.with_ids, tags.without_ids))
    return replace(fields, with_tags=with_tags, without_tags=without_tags)


def _words_behind(edition: Edition) -> DraftFields:
    """Return the fields of an edition's draft, or make fields from its content."""
    draft: Draft | None = getattr(edition, "draft", None)
    if draft is not None and _makes(draft.fields, edition):
        return draft.fields
    content = Content.of_edition(edition)
    if not content.html.strip():
        return replace(DraftFields.of_content(content), format=MARKDOWN, letter="")
    automatic = DraftFields.of_content(replace(content, text=""))
    # If the plain text is the same as the automatic plain text, keep it automatic.
    if build_content(automatic).text.split() == content.text.split():
        return automatic
    return DraftFields.of_content(content)


def _makes(fields: DraftFields, edition: Edition) -> bool:
    contents = {build_content(fields).sha256}
    if fields.format == HTML:
        # `publish_view` publishes finished HTML exactly as it is written, so compare this content
        # too.
        contents.add(content_as_written(fields).sha256)
    return bytes(edition.content_hash) in contents


def _lock_key(author: uuid.UUID, key: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
            [f"homing: the draft of {author} under {key}"],
        )


def _lock_issue(issue: uuid.UUID) -> Issue:
    return Issue.objects.select_for_update(no_key=True).get(pk=issue)


def _compare_with(draft: Draft, fields: DraftFields) -> SaveResult:
    return SaveResult(draft, is_saved=draft.edition_id is None and draft.fields == fields)
