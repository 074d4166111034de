"""The columns of a checked file, mapped on its page."""

import pytest

from subscribers.models import ImportPiece, ReaderFieldDefinition, Subscriber, SubscriberImport, Tag
from tests.publishing.author_browser import WindowOf
from tests.publishing.second_connection import at_once
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.importing.import_browser import run_workers, upload, uploaded

pytestmark = pytest.mark.django_db(transaction=True)

FILE = b"email,name,town,shoe,active\nada@x.org,Ada,York,7,true\nbob@x.org,Bob,,8,false\n"


def test_columns_are_shown_with_samples_and_a_proposal(window: WindowOf) -> None:
    ReaderFieldDefinition.objects.create(key="city", label="Town", position=1)
    page = window.get(uploaded(window, FILE))
    fields = page.form_with("column-1").fields
    assert [fields[f"column-{n}"] for n in range(1, 6)] == ["email", "name", "city", "", ""]
    assert "2 other columns, ignored" in page.words
    assert "shoe 7 · 8 Nothing; ignore it" in page.words


def test_changed_columns_are_checked_and_imported(window: WindowOf) -> None:
    address = uploaded(window, FILE)
    columns = window.get(address).form_with("column-1").fields
    answer = window.post(
        f"{address}columns/", **{**columns, "column-3": "new", "column-4": "tags", "column-2": ""}
    )
    run_workers()
    again = str(answer.answer.headers["Location"])
    assert again != address
    assert window.get(address).status == 404
    page = window.get(again)
    assert "town: “town”; Tags: “shoe” Ignored: “name” and “active”" in page.words
    assert "Tags 7 (1), 8 (1)" in page.words

    window.post(f"{again}import/", consent="ask", tags="Fair, New people")
    run_workers()

    ada = Subscriber.objects.get(email="ada@x.org")
    assert (ada.name, ada.fields) == ("", {"town": "York"})
    names = set(Tag.objects.filter(id__in=ada.tags).values_list("name", flat=True))
    assert names == {"7", "Fair", "New people"}
    assert "Tags for all Fair, New people" in window.get(again).words
    # The samples of the columns are deleted together with the file.
    assert SubscriberImport.objects.get().read_as["columns"] == []
    assert not ImportPiece.objects.exists()


def test_an_ignored_column_stays_ignored_in_the_next_change(window: WindowOf) -> None:
    address = uploaded(window, FILE)
    for number, to in (("2", ""), ("4", "tags")):
        columns = window.get(address).form_with("column-1").fields
        answer = window.post(f"{address}columns/", **{**columns, f"column-{number}": to})
        run_workers()
        address = str(answer.answer.headers["Location"])
    assert SubscriberImport.objects.get().mapping == [["column 2", "-"], ["column 4", "tags"]]


def test_columns_with_the_same_use_are_joined(window: WindowOf) -> None:
    address = uploaded(
        window, b"email,last name,first name,nick,tiers,labels\na@x.org,W,Ada,A,x,y\n"
    )
    columns = window.get(address).form_with("column-1").fields
    answer = window.post(
        f"{address}columns/", **{**columns, "column-4": "name", "column-5": "tags"}
    )
    run_workers()
    page = window.get(str(answer.answer.headers["Location"]))
    assert "Name: “first name”, “last name”, “nick”; Tags: “tiers”, “labels”" in page.words
    assert "For example a@x.org, Ada W A" in page.words


def test_a_column_that_is_not_read_says_why_in_red(window: WindowOf) -> None:
    address = uploaded(window, b"email,name,work email,joined\na@x.org,Ada,b@y.org,01/02/2023\n")
    page = window.get(address).answer.content.decode()
    reason = (
        "“work email” is ignored: only one column can be the email address, and that is “email”."
    )
    assert page.count(f'<p class="error">{reason}</p>') == 2
    assert '<p class="error">Lost dates in “joined”: 1.' in page


def test_columns_posted_twice_at_once_are_changed_once(window: WindowOf) -> None:
    address = uploaded(window, FILE)
    columns = {**window.get(address).form_with("column-1").fields, "column-3": "new"}
    first, second = at_once(*[lambda: window.post(f"{address}columns/", **columns)] * 2)
    assert sorted([first.status, second.status]) == [200, 303]
    late = first if first.status == 200 else second
    assert "The file was imported or deleted before. Nothing was changed." in late.words
    assert SubscriberImport.objects.get().mapping == [["column 3", "town"]]
    assert ReaderFieldDefinition.objects.count() == 1


def test_a_statement_has_no_control_characters(window: WindowOf) -> None:
    address = uploaded(window, FILE)
    window.post(f"{address}import/", consent="elsewhere", states_it="yes", where="Fair\0 2026")
    assert SubscriberImport.objects.get().statement == "Fair  2026"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"column-1": ""}, "No column is mapped to the email address. Map one."),
        ({"column-2": "email"}, "Two columns are mapped to email. Map one."),
        ({"column-3": "no such field"}, "Column “town” has an unknown choice."),
        ({"column-2": "new"}, "Homing uses “name” already."),
        ({}, "The columns are as before, so nothing has changed."),
    ],
)
def test_wrong_columns_change_nothing(
    window: WindowOf, changed: dict[str, str], sentence: str
) -> None:
    address = uploaded(window, FILE)
    columns = {**window.get(address).form_with("column-1").fields, **changed}
    page = window.post(f"{address}columns/", **columns)
    assert sentence in (page if page.status == 200 else window.get(address)).words
    assert SubscriberImport.objects.get().state == "checked"
    assert not ReaderFieldDefinition.objects.exists()


def test_only_a_checked_file_has_columns(window: WindowOf) -> None:
    SubscriberFactory(email="ada@x.org")
    address = str(upload(window, FILE).answer.headers["Location"])
    page = window.post(f"{address}columns/", **{"column-2": ""})
    assert (page.status, page.answer.headers["Location"]) == (303, address)
    assert SubscriberImport.objects.get().mapping == []


def test_tags_that_cannot_be_read_are_refused(window: WindowOf) -> None:
    address = uploaded(window, FILE)
    page = window.post(f"{address}import/", consent="ask", tags="x" * 61)
    assert "A tag has 61 characters. At most 60 are allowed." in page.words
    assert SubscriberImport.objects.get().state == "checked"
