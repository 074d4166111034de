"""
Keeps what an author posted when their session had ended meanwhile, until they need it no longer.

The words stand in a table, for their author alone: no session that ends and nobody else who signs
in touches them. They go when they are published, when the author deletes them, or with time. Only a
form that was shown to somebody signed in is kept: it carries a signed note of whose it is, so that
nobody else can fill the table.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core import signing
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest

from delivery.retention.batched_delete import OldRows
from idempotency.key import FIELD, BadKey, key_given
from publishing.drafts.draft_form import is_plain
from publishing.models import KeptForm

WRITER_FIELD = "writer"
WORDS = ("title", "preheader", "html_content", "text_content")
# Which version of which issue they are for, and whom it goes to; a new issue has none of these.
PLACE = ("issue", "version", "goes_to")
# All that makes two forms the same.
FIELDS = (*WORDS, *PLACE, "unlisted")
# Each is at most as large as a request may be (DATA_UPLOAD_MAX_MEMORY_SIZE); of more than these
# the oldest goes.
MOST_PER_WRITER = 5
_SALT = "publishing.drafts.unsent_forms"
# A form may lie open over a long holiday, and no longer.
_LONGEST_S = 90 * 24 * 3600


def signed_writer(user: AbstractBaseUser | AnonymousUser) -> str:
    """Whose form this is, for its hidden field."""
    return signing.dumps(str(user.pk), salt=_SALT)


def writer_of(note: str) -> uuid.UUID | None:
    """Whose form it was, by what its hidden field says; None if that is no note of ours."""
    try:
        return uuid.UUID(signing.loads(note, salt=_SALT, max_age=_LONGEST_S))
    except signing.BadSignature:
        return None


def keep(request: HttpRequest) -> None:
    """
    Keep the posted form for finished HTML for its writer; ignore any other form.

    Only the title of the composer's form would fit here. Its views keep it whole, as a draft.
    """
    if not is_plain(request.POST.dict()):
        return
    key = key_given(request.POST.getlist(FIELD), None)
    posted = _posted(request)
    if isinstance(key, BadKey) or not any(posted[name] for name in WORDS):
        return
    writer = writer_of(request.POST.get(WRITER_FIELD, ""))
    if writer is None:
        return
    with transaction.atomic():
        # Their row is held, so that two posts at once do not each take the other's for the oldest.
        writers = get_user_model().objects.select_for_update(no_key=True)
        if not writers.filter(pk=writer, is_active=True):
            return
        KeptForm.objects.update_or_create(
            writer_id=writer, key=key, defaults={**posted, "kept_at": Now()}
        )
        newest = waiting(writer).values_list("pk", flat=True)[:MOST_PER_WRITER]
        KeptForm.objects.filter(writer_id=writer).exclude(pk__in=list(newest)).delete()


def waiting(writer: uuid.UUID) -> QuerySet[KeptForm]:
    """The forms that are kept for `writer`, newest first; their bodies are read when asked for."""
    kept = KeptForm.objects.filter(writer_id=writer)
    return kept.order_by("-kept_at", "-pk").defer("html_content", "text_content")


def chosen(
    kept: Sequence[KeptForm], key: str | None, *, issue: str | None = None
) -> KeptForm | None:
    """The form of this key; if none is named the newest, or the newest for this issue."""
    if key is not None:
        return next((form for form in kept if form.key == key), None)
    return next((form for form in kept if issue is None or form.issue == issue), None)


def replace(
    request: HttpRequest, writer: uuid.UUID, key: str, *, by_key: str, **changed: str
) -> None:
    """Where a form is kept under `key`, keep in its place what was posted, under `by_key`."""
    kept = KeptForm.objects.filter(writer_id=writer, key=key)
    kept.update(**{**_posted(request), "key": by_key, **changed})


def forget(writer: uuid.UUID, key: str) -> bool:
    """The form was published, or its author deleted it. Whether there was one."""
    gone, _ = KeptForm.objects.filter(writer_id=writer, key=key).delete()
    return bool(gone)


def old_forms(days: float) -> OldRows:
    """The forms that lie here longer than so many days, neither published nor deleted."""
    return OldRows("kept_form", ["id"], "kept_at", days, in_order=False)


def _posted(request: HttpRequest) -> dict[str, str]:
    # No text of the database holds NUL, and nobody sees one.
    return {name: request.POST.get(name, "").replace("\x00", "") for name in FIELDS}
