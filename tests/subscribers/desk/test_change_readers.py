"""Changes of many readers: exact numbers, chunks, and readers' own choices."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.db import IntegrityError, connection, transaction
from django.urls import reverse

from delivery.tasks.register_background_task import find_due
from newsletter_site import register_hooks_and_tasks
from publishing.activity.activity_sentences import plain_sentence_of
from subscribers.desk.many_readers import change_readers
from subscribers.desk.many_readers.change_readers import (
    Selection,
    change_tags,
    count_selected,
    run_chunk,
    start_change,
)
from subscribers.desk.reader_filter import ReaderFilter
from subscribers.field_and_tag_settings.change_fields_and_tags import delete_tag
from subscribers.leaving.leave import leave
from subscribers.models import ConsentRecord, ReaderChange, Subscriber, Suppression, Tag
from tests.publishing.author_browser import Page, WindowOf
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db
READERS = "/admin/newsletters/readers/"
CHANGE = f"{READERS}change/"


@pytest.fixture
def birds() -> Tag:
    """Add a topic."""
    return Tag.objects.create(name="Birds", is_topic=True)


def start(author: Any, action: str, tag: Tag | None = None) -> ReaderChange:
    """Request a change of all readers; workers make the change later."""
    number, up_to = count_selected(Selection(ReaderFilter()))
    selection = Selection(ReaderFilter(), up_to=up_to)
    change = start_change(uuid4(), action, tag, selection, number, author.pk)
    assert change is not None
    return change


def confirm(window: WindowOf, page: Page, **changed: str) -> Page:
    form = page.form_with("key")
    return window.post(form.action, **{**form.fields, **changed})


def tagged(tag: Tag) -> set[int]:
    return set(Subscriber.objects.filter(tags__contains=[tag.pk]).values_list("pk", flat=True))


def test_selected_readers_get_a_tag_once(window: WindowOf, birds: Tag) -> None:
    first, left, _other = (SubscriberFactory(left_topics=own) for own in ([], [birds.pk], []))
    query = f"do=tag&which={birds.pk}&reader={first.pk}&reader={left.pk}"
    page = window.get(f"{CHANGE}?{query}")
    assert "Put the tag “Birds” on 2 readers?" in page.words
    assert not tagged(birds)
    # A dict keeps one of two hidden controls with the same name, so add both readers again.
    fields = {**page.form_with("key").fields, "reader": [str(first.pk), str(left.pk)]}
    done = window.post(CHANGE, **fields)
    result = window.get(done.answer.headers["Location"])
    assert "Done: 1 reader changed. For 1 reader there was nothing to do." in result.words
    assert tagged(birds) == {first.pk}
    assert (
        window.post(CHANGE, **fields).answer.headers["Location"]
        == (done.answer.headers["Location"])
    )
    assert [plain_sentence_of(entry) for entry in LogEntry.objects.all()] == [
        "Edith Marlow put the tag “Birds” on 2 readers."
    ]


def test_all_found_readers_change_and_later_ones_do_not(window: WindowOf, birds: Tag) -> None:
    found = [SubscriberFactory(state="pending").pk for _ in range(3)]
    SubscriberFactory()
    page = window.get(f"{CHANGE}?do=tag&which={birds.pk}&scope=found&state=pending")
    assert "Put the tag “Birds” on 3 readers?" in page.words
    SubscriberFactory(state="pending")  # after the question
    assert confirm(window, page).status == 303
    assert tagged(birds) == {*found}


def test_another_number_is_asked_again(window: WindowOf) -> None:
    readers = SubscriberFactory.create_batch(3)
    page = window.get(f"{CHANGE}?do=unsubscribe&scope=found&state=confirmed")
    leave(readers[0].pk)
    again = confirm(window, page)
    assert again.status == 200
    assert "another number of readers matches now" in again.words
    assert "Unsubscribe 2 readers?" in again.words
    assert not ReaderChange.objects.exists()
    assert confirm(window, again).status == 303
    assert set(Subscriber.objects.values_list("state", flat=True)) == {"unsubscribed"}


def test_the_former_name_of_an_action_is_accepted(window: WindowOf) -> None:
    SubscriberFactory()
    page = window.get(f"{CHANGE}?do=shut-out&scope=found")
    assert page.form_with("key").fields["do"] == "block"


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("do=tag&which=1&scope=found", "Choose a tag."),
        ("do=tag&reader=1", "Choose a tag."),
        ("do=erase", "Select the readers first."),
        ("do=erase&reader=x&reader=", "Select the readers first."),
        ("do=confirm&scope=found", "Choose what to do with the readers."),
        ("do=erase&scope=found&q=nobody", "No reader matches any more."),
    ],
)
def test_an_incomplete_choice_is_explained(window: WindowOf, query: str, sentence: str) -> None:
    SubscriberFactory()
    back = window.get(f"{CHANGE}?{query}")
    assert back.status == 303
    assert sentence in window.get(back.answer.headers["Location"]).words
    for key in ("", str(uuid4())):
        window.post(CHANGE, do="erase", scope="found", key=key, number="", up_to="x")
    assert Subscriber.objects.count() == 1


@pytest.mark.parametrize("action", ["unsubscribe", "block", "erase"])
def test_actions_on_many_do_as_on_one(author: Any, action: str) -> None:
    SubscriberFactory.create_batch(2)
    change = start(author, action)
    while run_chunk():
        pass
    states = list(Subscriber.objects.values_list("state", flat=True))
    assert states == {"unsubscribe": ["unsubscribed"] * 2, "block": ["confirmed"] * 2}.get(
        action, []
    )
    assert Suppression.objects.count() == (2 if action == "block" else 0)
    assert set(ConsentRecord.objects.values_list("how", flat=True)) <= {"operator"}
    change.refresh_from_db()
    assert (change.done, change.changed, change.readers) == (2, 2, [])


@pytest.mark.django_db(transaction=True)
def test_a_killed_change_continues_at_its_checkpoint(
    author: Any, birds: Tag, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(change_readers.CHUNKS, "tag", 2)
    readers = [SubscriberFactory().pk for _ in range(5)]
    change = start(author, "tag", birds)
    assert run_chunk()
    with transaction.atomic():
        assert run_chunk()
        transaction.set_rollback(True)  # as when the worker is killed
    assert tagged(birds) == {*readers[:2]}
    change.refresh_from_db()
    assert (change.done, change.percent) == (2, 40)
    change_tags([readers[0]], removed=[birds.pk])  # The change does not put it on again.
    assert "imports" in find_due()
    while register_hooks_and_tasks._run_change_or_import(lambda: False):
        pass
    change.refresh_from_db()
    assert (change.done, change.changed) == (5, 5)
    assert tagged(birds) == {*readers[1:]}


@pytest.mark.django_db(transaction=True)
def test_a_topic_left_meanwhile_stays_off(author: Any, birds: Tag) -> None:
    reader = SubscriberFactory()
    start(author, "tag", birds)
    with transaction.atomic():
        Subscriber.objects.filter(pk=reader.pk).update(left_topics=[birds.pk])
        chunk = beside(run_chunk)
        wait_until_somebody_waits(chunk)
    assert chunk.result(PATIENCE_S) is True
    assert not tagged(birds)


def test_a_tag_deleted_meanwhile_is_put_on_nobody(author: Any, birds: Tag) -> None:
    reader = SubscriberFactory()
    change = start(author, "tag", birds)
    assert delete_tag(birds.pk, author.pk)
    assert run_chunk()
    change.refresh_from_db()
    reader.refresh_from_db()
    assert (change.done, change.changed, reader.tags) == (1, 0, [])


def test_taking_off_a_tag_keeps_the_others(author: Any, birds: Tag) -> None:
    other = Tag.objects.create(name="Fish")
    both, none = SubscriberFactory(tags=[birds.pk, other.pk]), SubscriberFactory()
    change = start(author, "untag", birds)
    run_chunk()
    change.refresh_from_db()
    assert (change.changed, tagged(birds), tagged(other)) == (1, set(), {both.pk})
    none.refresh_from_db()
    assert none.edited_at is None


def test_a_running_change_is_stopped_with_exact_numbers(window: WindowOf, author: Any) -> None:
    SubscriberFactory.create_batch(3)
    change = start(author, "erase")
    run_chunk()
    progress = reverse("readers:changing", args=[change.pk])
    page = window.get(progress)
    assert "Readers done: 1 of 3." in page.words
    assert 'data-hx-trigger="every 1500ms, look"' in page.html
    assert f'action="{progress}stop/"' in page.html
    assert window.get(f"{READERS}changes/{change.pk + 1}/").status == 404
    window.post(f"{progress}stop/")
    words = window.get(progress).words
    assert "Stopped. Readers done: 1 of 3. Changed: 1." in words
    assert not run_chunk()
    assert Subscriber.objects.count() == 2
    window.post(f"{progress}stop/")
    assert [plain_sentence_of(entry) for entry in LogEntry.objects.all()].count(
        "Edith Marlow stopped a change of readers. Changed: 1 of 3."
    ) == 1


def test_a_failing_change_lets_others_pass_and_ends(
    window: WindowOf, author: Any, birds: Tag
) -> None:
    readers = SubscriberFactory.create_batch(2)
    failing = start(author, "block")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE suppression ADD CHECK (address_key = 'nobody')")
    with pytest.raises(IntegrityError):
        run_chunk()
    start(author, "tag", birds)
    assert run_chunk()
    assert tagged(birds) == {reader.pk for reader in readers}
    assert not run_chunk()
    ReaderChange.objects.update(lease_until=None, claims=ReaderChange.MOST_CLAIMS)
    assert run_chunk()
    failing.refresh_from_db()
    assert (failing.state, failing.done, failing.readers) == ("failed", 0, [])
    page = window.get(reverse("readers:changing", args=[failing.pk]))
    assert "Ended by an error." in page.words
