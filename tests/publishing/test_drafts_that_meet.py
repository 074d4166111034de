"""Two saves of one draft at the same moment, each on a connection of its own: one is told."""

from __future__ import annotations

import pytest
from django.db import transaction

from idempotency.key import fresh_key
from publishing import drafts
from publishing.drafts import Conflict, Saved
from publishing.models import Draft
from publishing.publish import publish
from tests.publishing.beside import PATIENCE_S, beside, wait_until_somebody_waits
from tests.publishing.letters import letter
from tests.publishing.test_drafts import begun, wording

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_two_saves_from_one_revision_the_second_meets_the_first(author):
    draft = begun(author)

    with transaction.atomic():
        mine = drafts.save(draft.pk, 1, wording("Mine."), by=author.pk)
        other = beside(lambda: drafts.save(draft.pk, 1, wording("Theirs."), by=author.pk))
        wait_until_somebody_waits()
    answer = other.result(PATIENCE_S)

    assert isinstance(mine, Saved)
    assert isinstance(answer, Conflict)
    assert answer.draft.letter == Draft.objects.get().letter == "Mine."
    assert Draft.objects.get().revision == 2


def test_of_two_saves_of_the_same_words_both_are_saved_once(author):
    draft = begun(author)

    with transaction.atomic():
        drafts.save(draft.pk, 1, wording("Ours."), by=author.pk)
        other = beside(lambda: drafts.save(draft.pk, 1, wording("Ours."), by=author.pk))
        wait_until_somebody_waits()
    answer = other.result(PATIENCE_S)

    assert isinstance(answer, Saved)
    assert (answer.changed, answer.draft.revision) == (False, 2)


def test_of_two_first_saves_under_one_key_one_draft_comes(author):
    key = fresh_key()

    with transaction.atomic():
        drafts.begin(author.pk, key, wording("Mine."))
        other = beside(lambda: drafts.begin(author.pk, key, wording("Theirs.")))
        wait_until_somebody_waits()

    assert isinstance(other.result(PATIENCE_S), Conflict)
    assert Draft.objects.get().letter == "Mine."


def test_of_two_who_begin_the_next_version_both_have_one_draft(author, new_author):
    issue = publish(author.pk, fresh_key(), letter(), hold_s=0).edition.issue_id
    ines = new_author("ines")

    with transaction.atomic():
        mine = drafts.begin_for_issue(author.pk, issue)
        other = beside(lambda: drafts.begin_for_issue(ines.pk, issue))
        wait_until_somebody_waits()

    assert other.result(PATIENCE_S).pk == mine.pk
    assert Draft.objects.count() == 1


def test_a_draft_is_not_saved_while_it_is_thrown_away(author):
    draft = begun(author)

    with transaction.atomic():
        drafts.throw_away(draft.pk, by=author.pk)
        other = beside(lambda: drafts.save(draft.pk, 1, wording("Theirs."), by=author.pk))
        wait_until_somebody_waits()

    assert other.result(PATIENCE_S) == drafts.Gone()
    assert not Draft.objects.exists()
