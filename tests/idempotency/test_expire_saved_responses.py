"""Only old answers are deleted."""

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from idempotency.expire_saved_responses import count_expired, expire_saved_responses
from idempotency.models import PostedForm

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def author():
    return get_user_model().objects.create_user(username="author")


def remember(author, key: str, age: str) -> None:
    """Insert a row of this age, by the database's clock."""
    PostedForm.objects.create(user=author, idempotency_key=key, request_fingerprint=b"")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE idempotency SET created_at = clock_timestamp() - %s::interval"
            " WHERE idempotency_key = %s",
            [age, key],
        )


def keys() -> set[str]:
    return set(PostedForm.objects.values_list("idempotency_key", flat=True))


def test_expired_rows_are_deleted(author, settings):
    settings.IDEMPOTENCY_TTL_DAYS = 30
    remember(author, "young", "29 days 23 hours")
    remember(author, "old", "30 days 1 hour")
    assert count_expired() == 1
    assert expire_saved_responses() == 1
    assert keys() == {"young"}
    assert expire_saved_responses() == 0


def test_many_rows_are_deleted_in_pieces(author):
    for number in range(5):
        remember(author, f"old-{number}", f"{1000 - number} days")
    assert [expire_saved_responses(at_most=2) for _ in range(2)] == [2, 2]
    assert keys() == {"old-4"}


def test_rows_are_kept_for_30_days_without_a_setting(author, settings):
    del settings.IDEMPOTENCY_TTL_DAYS
    remember(author, "young", "29 days 23 hours")
    remember(author, "old", "30 days 1 hour")
    assert expire_saved_responses() == 1
    assert keys() == {"young"}


def test_rows_locked_by_another_run_are_skipped(author, onlooker):
    remember(author, "old", "1000 days")
    remember(author, "held", "1000 days")
    with onlooker.db.transaction():
        onlooker.one("SELECT 1 FROM idempotency WHERE idempotency_key = 'held' FOR UPDATE")
        assert expire_saved_responses() == 1
    assert keys() == {"held"}


def test_deleting_an_author_deletes_their_rows(author):
    remember(author, "k", "1 day")
    author.delete()
    assert keys() == set()
