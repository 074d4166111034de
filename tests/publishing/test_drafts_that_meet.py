"""Two saves of one draft at the same moment, each on a connection of its own: one is told."""

from __future__ import annotations

import threading
from collections.abc import Callable

import psycopg
import pytest
from django.db import connection, transaction

from idempotency.key import fresh_key
from publishing import drafts
from publishing.drafts import Answer, Conflict, Saved
from publishing.models import Draft
from publishing.publish import publish
from tests.publishing.letters import letter
from tests.publishing.test_drafts import begun, wording

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_S = 60


class Beside:
    """Something done on another connection meanwhile; `answer` is what came of it."""

    def __init__(self, do: Callable[[], Answer]) -> None:
        self.answer: Answer | None = None
        self._do = do
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.answer = self._do()
        finally:
            connection.close()

    def end(self) -> Answer | None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        return self.answer


def wait_until_somebody_waits(database_url: str) -> None:
    """Until a connection waits for a lock of another."""
    with psycopg.connect(database_url, autocommit=True) as onlooker:
        for _ in range(100_000):
            (waiting,) = onlooker.execute(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).fetchone()
            if waiting:
                return
    raise AssertionError("nobody came to wait")


def test_of_two_saves_from_one_revision_the_second_meets_the_first(author, database_url):
    draft = begun(author)

    with transaction.atomic():
        mine = drafts.save(draft.pk, 1, wording("Mine."), by=author.pk)
        other = Beside(lambda: drafts.save(draft.pk, 1, wording("Theirs."), by=author.pk))
        wait_until_somebody_waits(database_url)
    answer = other.end()

    assert isinstance(mine, Saved)
    assert isinstance(answer, Conflict)
    assert answer.draft.letter == Draft.objects.get().letter == "Mine."
    assert Draft.objects.get().revision == 2


def test_of_two_saves_of_the_same_words_both_are_saved_once(author, database_url):
    draft = begun(author)

    with transaction.atomic():
        drafts.save(draft.pk, 1, wording("Ours."), by=author.pk)
        other = Beside(lambda: drafts.save(draft.pk, 1, wording("Ours."), by=author.pk))
        wait_until_somebody_waits(database_url)
    answer = other.end()

    assert isinstance(answer, Saved)
    assert (answer.changed, answer.draft.revision) == (False, 2)


def test_of_two_first_saves_under_one_key_one_draft_comes(author, database_url):
    key = fresh_key()

    with transaction.atomic():
        drafts.begin(author.pk, key, wording("Mine."))
        other = Beside(lambda: drafts.begin(author.pk, key, wording("Theirs.")))
        wait_until_somebody_waits(database_url)

    assert isinstance(other.end(), Conflict)
    assert Draft.objects.get().letter == "Mine."


def test_of_two_who_begin_the_next_version_both_have_one_draft(author, new_author, database_url):
    issue = publish(author.pk, fresh_key(), letter(), hold_s=0).edition.issue_id
    ines = new_author("ines")

    with transaction.atomic():
        mine = drafts.begin_for_issue(author.pk, issue)
        other = Beside(lambda: Saved(drafts.begin_for_issue(ines.pk, issue), changed=False))
        wait_until_somebody_waits(database_url)

    assert other.end().draft.pk == mine.pk
    assert Draft.objects.count() == 1


def test_a_draft_is_not_saved_while_it_is_thrown_away(author, database_url):
    draft = begun(author)

    with transaction.atomic():
        drafts.throw_away(draft.pk, by=author.pk)
        other = Beside(lambda: drafts.save(draft.pk, 1, wording("Theirs."), by=author.pk))
        wait_until_somebody_waits(database_url)

    assert other.end() == drafts.Gone()
    assert not Draft.objects.exists()
