"""Filters of the list of readers that authors save under a name."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db import IntegrityError, transaction

from publishing.activity.activity_sentences import plain_sentence_of
from subscribers.fields.reader_values import shown_again
from subscribers.models import SavedFilter, Tag
from tests.publishing.author_browser import WindowOf
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.importing.import_browser import someone

pytestmark = pytest.mark.django_db
READERS = "/admin/newsletters/readers/"
SAVE = f"{READERS}filters/"


@pytest.fixture
def birds() -> Tag:
    SubscriberFactory(email="ada@example.org")
    return Tag.objects.create(name="Birds")


def test_all_authors_can_open_and_delete_a_saved_filter(window: WindowOf, birds: Tag) -> None:
    query = f"?state=confirmed&tag={birds.pk}&since=2026-01-02"
    form = window.get(READERS + query).form_with("name")
    assert window.post(form.action, **{**form.fields, "name": " New\u200e  <b> "}).status == 303

    other = WindowOf(someone("grace", "manage_readers"))
    address = query.replace("&", "&amp;")
    assert f'<a href="{address}"><bdi>New &lt;b&gt;</bdi></a>' in other.get(READERS).html
    here = other.get(READERS + query)
    assert f'<a href="{address}" aria-current="true"><bdi>New' in here.html
    assert "Save this filter" not in here.words
    saved = SavedFilter.objects.get()
    delete = f"{READERS}filters/{saved.pk}/delete/"
    assert f'action="{delete}"' in here.html
    assert other.get(delete).status == 405
    other.post(delete)
    assert "The filter “New <b>” is deleted." in other.get(READERS).words
    other.post(delete)
    assert "Someone did this already." in other.get(READERS).words
    assert not SavedFilter.objects.exists()
    assert {plain_sentence_of(entry).partition(" ")[2] for entry in LogEntry.objects.all()} == {
        "Marlow added saved filter New <b>.",
        "Marlow deleted saved filter New <b>.",
    }


@pytest.mark.parametrize(
    ("name", "filters", "why"),
    [
        (" \0\u200e ", {"q": "ada"}, "Enter a name for the filter"),
        ("x" * 61, {"q": "ada"}, "The name has 61 characters. At most 60 are allowed."),
        ("BIRDS", {"q": "ada"}, "Another filter is called “BIRDS”."),
        ("Nothing", {"q": " ", "state": "x"}, "Choose a filter or search first."),
        ("Ada", {"q": "ada@example.org"}, "A filter for one address cannot be saved."),
        ("Ada", {"q": "Ada <ada@example.org>"}, "A filter for one address cannot be saved."),
        ("ada@example.org", {"q": "ada"}, "A filter for one address cannot be saved."),
        ("x" * 17_000, {"q": "ada"}, "At most 60 are allowed."),
        ("Fish", {"tag": "999"}, "The tag of this filter was deleted."),
    ],
)
def test_a_refused_filter_is_explained_and_keeps_its_name(
    window: WindowOf, birds: Tag, name: str, filters: dict[str, str], why: str
) -> None:
    SavedFilter.objects.create(name="Birds", tag=birds)
    answer = window.post(SAVE, name=name, **filters).answer
    page = window.get(answer.headers["Location"])
    assert why in page.words
    assert SavedFilter.objects.count() == 1
    if page.has_form_with("tag") and "Save this filter" in page.words:
        assert page.form_with("tag" if "tag" in filters else "q")
        assert f'name="name" value="{shown_again(name)}"' in page.source


def test_the_number_of_an_import_is_written_in_one_way(window: WindowOf) -> None:
    window.post(SAVE, name="Moved", source="import-0000000000001")
    assert SavedFilter.objects.get().source == "import-1"


def test_a_deleted_tag_takes_its_filters_along(window: WindowOf, birds: Tag) -> None:
    SavedFilter.objects.create(name="Of birds", tag=birds)
    delete = f"/admin/newsletters/settings/tags/{birds.pk}/delete/"
    assert "Saved filters by this tag are deleted too." in window.get(delete).words
    window.post(delete)
    assert not SavedFilter.objects.exists()


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"state": "gone"},
        {"source": "import-x"},
        {"text": "ada@example.org"},
        {"name": "", "text": "ada"},
        {"name": "BIRDS", "text": "ada"},
    ],
)
def test_the_database_refuses_unsound_filters(birds: Tag, values: dict[str, str]) -> None:
    SavedFilter.objects.create(name="Birds", tag=birds)
    with pytest.raises(IntegrityError), transaction.atomic():
        SavedFilter.objects.create(**{"name": "Another", **values})


def test_only_authors_who_manage_readers_save_filters(birds: Tag) -> None:
    stranger = WindowOf(someone("bram"))
    assert stranger.post(SAVE, name="Ada", q="ada").status == 403
    assert not SavedFilter.objects.exists()
