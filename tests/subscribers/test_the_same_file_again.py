"""A file is known by its content: the same one again creates nothing."""

from __future__ import annotations

import pytest

from subscribers.models import SubscriberImport
from tests.subscribers.conftest import FileOf, ImportRows, ImportSubscribers
from tests.subscribers.factories import SubscriberFactory, the_list

pytestmark = pytest.mark.django_db


def test_the_same_content_creates_nothing_and_gives_the_numbers_of_the_first_time(
    import_rows: ImportRows,
) -> None:
    SubscriberFactory(email="left@example.org", state="unsubscribed")
    rows = ("ada@example.org,Ada", "ada@example.org,", "left@example.org,", "nowhere,")
    first = import_rows(*rows)
    before = the_list()

    again = import_rows(*rows, name="under another name.csv")

    assert again.summary == {**first.summary, "created": False}
    assert the_list() == before
    assert SubscriberImport.objects.count() == 1
    dry_run = import_rows(*rows, options=("--dry-run",))
    assert dry_run.summary == again.summary
    assert again.lines[0].startswith("The content of under another name.csv was imported before")
    assert [line for line in again.lines if line.startswith("line ")] == [
        line for line in first.lines if line.startswith("line ")
    ]


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


def test_the_same_name_with_other_content_is_a_new_import(import_rows: ImportRows) -> None:
    import_rows("ada@example.org,Ada")
    again = import_rows("ada@example.org,Ada", "bob@example.org,Bob")
    assert again.summary["created"] is True
    assert again.counts == {"added": 1, "known": 1}
