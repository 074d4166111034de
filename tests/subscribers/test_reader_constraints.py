"""Constraints that the database enforces."""

from typing import Any

import pytest
from django.db import IntegrityError
from factory.django import DjangoModelFactory

from tests.subscribers.factories import (
    SOME_DAY,
    SubscriberFactory,
    SubscriberImportFactory,
    SuppressionFactory,
)

pytestmark = pytest.mark.django_db


def test_address_is_unique_in_any_letter_case() -> None:
    SubscriberFactory(email="Ada@example.org")
    with pytest.raises(IntegrityError, match="one_subscriber_per_address"):
        SubscriberFactory(email="aDA@example.org")


AN_ADDRESS = "an_address_is_printable_ascii_around_one_at_sign"
IMPOSSIBLE: list[tuple[type[DjangoModelFactory[Any]], dict[str, Any], str]] = [
    (SubscriberFactory, {"email": "ädä@example.org"}, AN_ADDRESS),
    (SubscriberFactory, {"email": "ada.example.org"}, AN_ADDRESS),
    (SubscriberFactory, {"email": "ada@@example.org"}, AN_ADDRESS),
    (SubscriberFactory, {"email": "a da@example.org"}, AN_ADDRESS),
    (SubscriberFactory, {"email": "ada@example.org\n"}, AN_ADDRESS),
    (SubscriberFactory, {"name": "Ada\nBcc: bob"}, "a_name_is_free_of_control_characters"),
    (SubscriberFactory, {"name": "Ada\x9b"}, "a_name_is_free_of_control_characters"),
    (SubscriberFactory, {"name": "Ada\u2028"}, "a_name_is_free_of_control_characters"),
    (SubscriberFactory, {"source": "import"}, "an_imported_subscriber_names_the_import"),
    (SubscriberFactory, {"confirmed_at": None}, "a_confirmed_subscriber_says_since_when"),
    (
        SubscriberFactory,
        {"state": "pending", "confirmed_at": SOME_DAY},
        "a_pending_subscriber_never_confirmed",
    ),
    (
        SubscriberFactory,
        {"state": "unsubscribed", "unsubscribed_at": None},
        "an_unsubscribed_subscriber_says_since_when",
    ),
    (SubscriberFactory, {"unsubscribed_at": SOME_DAY}, "who_left_is_neither_pending_nor_confirmed"),
    (SuppressionFactory, {"address_key": "Ada@example.org"}, "a_suppressed_address_is_case_folded"),
    (SubscriberImportFactory, {"rows": 10, "added": 9}, "the_rows_of_an_import_add_up"),
    (
        SubscriberImportFactory,
        {"state": "expired", "rows": 1, "added": 1, "confirmed": False},
        "an_expired_import_brought_nobody",
    ),
    (SubscriberImportFactory, {"undone": 1}, "an_undo_counts_added_readers_once"),
    (SubscriberImportFactory, {"state": "undone"}, "an_undone_import_says_when"),
]


@pytest.mark.parametrize(("make", "broken", "rule"), IMPOSSIBLE)
def test_a_row_that_contradicts_itself_is_refused(
    make: type[DjangoModelFactory[Any]], broken: dict[str, Any], rule: str
) -> None:
    with pytest.raises(IntegrityError, match=rule):
        make(**broken)


def test_an_address_is_suppressed_once() -> None:
    SuppressionFactory(address_key="ada@example.org")
    with pytest.raises(IntegrityError, match="one_suppression_per_address"):
        SuppressionFactory(address_key="ada@example.org")


def test_the_same_content_is_imported_once() -> None:
    SubscriberImportFactory(content_hash=b"one")
    with pytest.raises(IntegrityError, match="one_import_per_content"):
        SubscriberImportFactory(content_hash=b"one")
