"""A file is known by its content: the same one again creates nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from subscribers.models import Subscriber, SubscriberImport
from tests.subscribers.conftest import Printed
from tests.subscribers.factories import SubscriberFactory, the_list

pytestmark = pytest.mark.django_db

FileOf = Callable[..., Path]
ImportSubscribers = Callable[..., Printed]


def test_the_same_content_creates_nothing_and_gives_the_numbers_of_the_first_time(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    SubscriberFactory(email="left@example.org", state="unsubscribed")
    rows = ("ada@example.org,Ada", "ada@example.org,", "left@example.org,", "nowhere,")
    first = import_subscribers(file_of(*rows))
    before = the_list()

    again = import_subscribers(file_of(*rows, name="under another name.csv"))

    assert again.summary == {**first.summary, "created": False}
    assert the_list() == before
    assert SubscriberImport.objects.count() == 1
    assert again.lines[0].startswith("The content of under another name.csv was imported before")
    assert [line for line in again.lines if line.startswith("line ")] == [
        line for line in first.lines if line.startswith("line ")
    ]


def test_it_stays_what_it_was_even_if_somebody_has_left_since(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    path = file_of("ada@example.org,Ada")
    first = import_subscribers(path)
    Subscriber.objects.all().delete()

    again = import_subscribers(path)

    assert again.summary == {**first.summary, "created": False}
    assert the_list() == {}


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        ((), ("--confirmed",), "That import was made without --confirmed"),
        (("--confirmed",), (), "That import was made with --confirmed"),
    ],
)
def test_another_statement_about_consent_changes_nothing_and_is_answered(
    file_of: FileOf,
    import_subscribers: ImportSubscribers,
    first: tuple[str, ...],
    then: tuple[str, ...],
    said: str,
) -> None:
    path = file_of("ada@example.org,Ada")
    import_subscribers(path, *first)
    before = the_list()

    again = import_subscribers(path, *then)

    assert again.summary["created"] is False
    assert again.lines[1].startswith(said)
    assert the_list() == before


def test_a_dry_run_of_a_file_that_was_imported_says_what_the_real_run_would(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    path = file_of("ada@example.org,Ada")
    import_subscribers(path)

    assert import_subscribers(path, "--dry-run").summary == import_subscribers(path).summary


def test_the_same_name_with_other_content_is_a_new_import(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    import_subscribers(file_of("ada@example.org,Ada"))

    again = import_subscribers(file_of("ada@example.org,Ada", "bob@example.org,Bob"))

    assert again.summary["created"] is True
    assert again.counts == {"added": 1, "known": 1}
