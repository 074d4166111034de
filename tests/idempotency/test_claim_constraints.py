"""The constraints of the table of claims."""

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection

from idempotency.key import InvalidKey, read_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def insert():
    """Insert one valid row with SQL; `columns` replace values."""
    author = get_user_model().objects.create_user(username="author")

    def run(**columns: object) -> None:
        row = {
            "user_id": author.pk,
            "idempotency_key": "k",
            "request_fingerprint": b"",
            "response_status_code": 303,
            "response_headers": "{}",
            "response_body": b"",
            "messages": "[]",
            **columns,
        }
        names, places = ", ".join(row), ", ".join(["%s"] * len(row))
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO idempotency ({names}) VALUES ({places})", list(row.values())
            )

    return run


def test_complete_rows_and_claims_are_accepted(insert):
    insert()
    claim = dict.fromkeys(("response_status_code", "response_headers", "response_body", "messages"))
    insert(idempotency_key="claim", **claim)


@pytest.mark.parametrize(
    "missing", ["response_status_code", "response_headers", "response_body", "messages"]
)
def test_a_partial_response_is_refused(insert, missing):
    with pytest.raises(IntegrityError, match="an_answer_is_saved_whole_or_not_at_all"):
        insert(**{missing: None})


@pytest.mark.parametrize("status", [199, 400])
def test_only_successful_responses_are_accepted(insert, status):
    with pytest.raises(IntegrityError, match="only_an_answer_to_committed_work_is_saved"):
        insert(response_status_code=status)


@pytest.mark.parametrize("key", ["", "a" * 50, "ü", "a\n", "a\tb", " a", "a ", "\x7f"])
def test_the_table_refuses_the_keys_that_the_app_refuses(insert, key):
    assert isinstance(read_key([key], None), InvalidKey)
    with pytest.raises(IntegrityError, match="a_key_is_1_to_49_printable_ascii_characters"):
        insert(idempotency_key=key)


def test_the_table_accepts_the_keys_that_the_app_accepts(insert):
    for key in ("a", "~", "!", "a" * 49, "two words", "a\\b[c]"):
        assert read_key([key], None) == key
        insert(idempotency_key=key)
