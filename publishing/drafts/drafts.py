"""
Drafts: begun, saved, copied and thrown away.

A save names the revision it was made from. Of two that were made from the same one the first is
saved and the second is told: neither wins in silence, and neither is lost.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass

from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from delivery.models import Edition
from idempotency.key import fresh_key
from publishing.activity.record_activity import record_draft_activity
from publishing.content.draft_content import HTML, MARKDOWN, DraftContent, build_content
from publishing.content.edition_content import Content
from publishing.editions.versions import EVERYONE, default_goes_to, versions_of
from publishing.models import Draft, Issue

# Of drafts that nobody has gone on with, so many stand in the way of keeping one more.
MOST_UNTOUCHED = 20


@dataclass(frozen=True, slots=True)
class DraftFields:
    """All that a save holds: the words, whom they go to, whether the issue is kept unlisted."""

    written: DraftContent
    goes_to: str = EVERYONE.value
    unlisted: bool = False

    @property
    def columns(self) -> dict[str, object]:
        """By the names of the table."""
        return {**asdict(self.written), "goes_to": self.goes_to, "unlisted": self.unlisted}


@dataclass(frozen=True, slots=True)
class Saved:
    """The draft holds these words, since now (`changed`) or since earlier."""

    draft: Draft
    changed: bool


@dataclass(frozen=True, slots=True)
class Conflict:
    """The draft moved on: it holds other words than those that the save was made from."""

    draft: Draft


@dataclass(frozen=True, slots=True)
class Published:
    """The draft became an edition and stays as it was; nothing was saved."""

    draft: Draft


@dataclass(frozen=True, slots=True)
class Gone:
    """There is no such draft: it was thrown away."""


Answer = Saved | Conflict | Published | Gone


class TooManyUntouchedError(Exception):
    """So many drafts of one author wait untouched that no other is kept; one sentence says so."""


def load_draft(draft: uuid.UUID) -> Draft | None:
    """One draft, open or published; None where there is none."""
    drafts = Draft.objects.select_related("issue", "saved_by", "edition")
    return drafts.filter(pk=draft).first()


def draft_by_key(key: str) -> Draft | None:
    """The draft with this idempotency key, open or published; None without one."""
    return _present(key=key)


def lock_by_key(author: uuid.UUID, key: str) -> Draft | None:
    """
    Lock the draft that an author began under a key until the transaction ends.

    If there is none, nobody can begin it for this author before then.
    """
    begun = Draft.objects.select_for_update(of=("self",)).filter(key=key, created_by=author)
    draft = begun.first()
    if draft is None:
        _hold_key(author, key)
        draft = begun.first()
    return draft


def close(draft: Draft, edition: Edition, *, copy_for: uuid.UUID | None) -> None:
    """
    Link a locked draft to the edition that its key made. Nobody can publish it again.

    Edited words that the edition does not have continue in a copy for `copy_for`; None if it has
    all. The last save of the form for finished HTML is not copied: the same form posted newer ones.
    """
    Draft.objects.filter(pk=draft.pk, edition=None).update(edition=edition)
    if copy_for is None or draft.revision == draft.html_form_revision:
        return
    if build_content(content_of_draft(draft)).sha256 != bytes(edition.content_hash):
        copy(copy_for, fresh_key(), fields_of_draft(draft), issue=draft.issue_id)


def open_draft_of_issue(issue: uuid.UUID) -> Draft | None:
    """The draft of an issue's next version, the latest saved if there are copies."""
    drafts = Draft.objects.filter(issue=issue, edition=None).select_related("issue", "saved_by")
    return drafts.order_by("-saved_at", "-pk").first()


def content_of_draft(draft: Draft) -> DraftContent:
    """The words of a draft."""
    return DraftContent(draft.title, draft.preheader, draft.format, draft.letter, draft.text)


def fields_of_draft(draft: Draft) -> DraftFields:
    """All that a save of this draft would hold."""
    return DraftFields(content_of_draft(draft), draft.goes_to, draft.unlisted)


def begin(
    author: uuid.UUID, key: str, wording: DraftFields, *, issue: uuid.UUID | None = None
) -> Answer:
    """
    The first save of what stands in a fresh form, under the form's key.

    Repeated, it makes no second draft: the same words are saved already, and others meet those that
    are there. So do words for the next version of an issue that has an open draft.
    """
    with transaction.atomic():
        if issue is not None:
            # Publishing locks the draft or its key before the issue. In another order both
            # could wait for each other.
            lock_by_key(author, key)
            _hold(issue)
            other = open_draft_of_issue(issue)
            if other is not None and other.key != key:
                return _standing(other, wording)
        return copy(author, key, wording, issue=issue)


def paste(
    author: uuid.UUID, key: str, wording: DraftFields, *, issue: uuid.UUID | None = None
) -> Answer:
    """
    Save the form for finished HTML under its key, as one draft for all its posts.

    Other words replace those that the same form saved before, unless the draft was edited since.
    """
    with transaction.atomic():
        answer = begin(author, key, wording, issue=issue)
        if isinstance(answer, Conflict):
            draft = answer.draft
            if draft.key == key and draft.html_form_revision == draft.revision:
                answer = save(draft.pk, draft.revision, wording, by=author)
        if isinstance(answer, Saved) and answer.changed:
            Draft.objects.filter(pk=answer.draft.pk).update(
                html_form_revision=answer.draft.revision
            )
        return answer


def copy(
    author: uuid.UUID, key: str, wording: DraftFields, *, issue: uuid.UUID | None = None
) -> Answer:
    """
    A draft of these words under that key, beside whatever else is being written.

    If the author already published under the key, the draft is `Published` with those words.
    """
    with transaction.atomic():
        _hold_key(author, key)
        made = Edition.objects.filter(author_id=author, idempotency_key=key).first()
        fresh = Draft(
            key=key,
            issue_id=issue,
            created_by_id=author,
            saved_by_id=author,
            edition=made,
            **(_wording_behind(made, wording.written) if made else wording).columns,
        )
        # Of two at once, on their way under one key, the second waits here for the first.
        Draft.objects.bulk_create([fresh], ignore_conflicts=True)
        draft = _present(key=key)
        if draft is None:
            return Gone()
        if draft.pk == fresh.pk and made is None:
            record_draft_activity("begin_draft", author, draft)
            return Saved(draft, changed=True)
        return _standing(draft, wording)


def keep(
    author: uuid.UUID,
    key: str,
    wording: DraftFields,
    *,
    issue: uuid.UUID | None = None,
    shown: uuid.UUID | None = None,
) -> Draft:
    """
    An open draft of exactly these words, for an author whose session ended: one that holds them
    already, of theirs or the one that the page had `shown`, whoever began that; or a new one, under
    that key where it is free.

    Whoever holds a form of theirs could post to it without end, so each has only so many that were
    never saved again. Raises `TooManyUntouchedError`.
    """
    with transaction.atomic():
        # Their row is held, so that two at once do not both find room for one.
        get_user_model().objects.select_for_update(no_key=True).get(pk=author)
        still_open = Draft.objects.filter(edition=None)
        there = still_open.filter(
            Q(created_by=author) | Q(pk=shown), issue=issue, **wording.columns
        )
        found = there.first()
        if found is not None:
            return found
        if still_open.filter(created_by=author, revision=1).count() >= MOST_UNTOUCHED:
            raise TooManyUntouchedError(
                f"{MOST_UNTOUCHED} drafts of yours wait that were never saved again, and no more "
                "are kept for somebody who is signed out."
            )
        for free in (key, fresh_key()):
            answer = copy(author, free, wording, issue=issue)
            if isinstance(answer, Saved):
                return answer.draft
        raise AssertionError("a fresh key met a draft")


def save(draft: uuid.UUID, from_revision: int, wording: DraftFields, *, by: uuid.UUID) -> Answer:
    """Save these words over the revision that they were made from, and over no other."""
    with transaction.atomic():
        before = Draft.objects.filter(pk=draft).values_list("saved_by_id", flat=True).first()
        changed = (
            Draft.objects.filter(pk=draft, revision=from_revision, edition=None)
            .exclude(**wording.columns)
            .update(revision=F("revision") + 1, saved_by=by, saved_at=Now(), **wording.columns)
        )
        # Whoever changed the row holds it until the end: what is read is what was written.
        present = _present(pk=draft)
        if present is None:
            return Gone()
        if not changed:
            return _standing(present, wording)
        if before != by:
            record_draft_activity("continue_draft", by, present)
        return Saved(present, changed=True)


def open_for_issue(author: uuid.UUID | None, issue: uuid.UUID) -> Draft:
    """
    The open draft of an issue's next version; where there is none, one with its newest words.

    Raises `Issue.DoesNotExist` where nothing was published of such an issue.
    """
    with transaction.atomic():
        held = _hold(issue)
        draft = open_draft_of_issue(issue)
        if draft is not None:
            return draft
        columns = wording_for_issue(issue).columns
        draft = Draft.objects.create(
            issue=held, created_by_id=author, saved_by_id=author, key=fresh_key(), **columns
        )
        draft.refresh_from_db(fields=["created_at", "saved_at"])
        if author is not None:
            record_draft_activity("begin_draft", author, draft)
        return draft


def wording_for_issue(issue: uuid.UUID) -> DraftFields:
    """
    The newest words of an issue: in Markdown where they were written so, otherwise the HTML.

    Raises `Issue.DoesNotExist`.
    """
    newest = versions_of(issue).defer(None).select_related("draft").first()
    if newest is None:
        raise Issue.DoesNotExist(f"There is no issue {issue}.")
    return DraftFields(_words_behind(newest), default_goes_to(issue))


def _wording_behind(edition: Edition, posted: DraftContent) -> DraftFields:
    """All that the form held whose post made this edition: the words posted now if they did."""
    made_it = build_content(posted).sha256 == bytes(edition.content_hash)
    return DraftFields(
        posted if made_it else _words_behind(edition),
        edition.goes_to,
        edition.version == 1 and edition.issue.published_unlisted,
    )


def _words_behind(edition: Edition) -> DraftContent:
    """What an author wrote to make this edition, as near as it is known."""
    draft: Draft | None = getattr(edition, "draft", None)
    if draft is not None and build_content(content_of_draft(draft)).sha256 == bytes(
        edition.content_hash
    ):
        return content_of_draft(draft)
    html, text = edition.html_content, edition.text_content
    if not html.strip():
        return DraftContent(edition.title, edition.preheader, MARKDOWN, "", text)
    made = DraftContent(edition.title, edition.preheader, HTML, html, "")
    # A text part that the letter makes by itself goes on following the letter.
    return (
        made
        if _same(build_content(made), text)
        else DraftContent(edition.title, edition.preheader, HTML, html, text)
    )


def _same(content: Content, text: str) -> bool:
    return content.text.split() == text.split()


def delete_draft(draft: uuid.UUID, *, by: uuid.UUID) -> bool:
    """Delete an open draft, on record; False if it is gone or was published."""
    with transaction.atomic():
        found = Draft.objects.select_for_update().filter(pk=draft, edition=None).first()
        if found is None:
            return False
        record_draft_activity("delete_draft", by, found)
        found.delete()
        return True


def _hold_key(author: uuid.UUID, key: str) -> None:
    """Make a first save and a publication under one key of an author wait for each other."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
            [f"homing: the draft of {author} under {key}"],
        )


def _hold(issue: uuid.UUID) -> Issue:
    """Of two who begin at once the second finds what the first has begun."""
    return Issue.objects.select_for_update(no_key=True).get(pk=issue)


def _present(**named: object) -> Draft | None:
    drafts = Draft.objects.select_related("issue", "saved_by", "edition")
    return drafts.filter(**named).first()


def _standing(draft: Draft, wording: DraftFields) -> Answer:
    """What a save that changed nothing met."""
    if draft.edition_id is not None:
        return Published(draft)
    return Saved(draft, changed=False) if fields_of_draft(draft) == wording else Conflict(draft)
