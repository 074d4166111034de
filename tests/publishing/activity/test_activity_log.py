"""Who did what and when: one sentence each, to whoever may know, a page at a time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from delivery.models import Edition
from publishing.activity.activity_sentences import said
from publishing.activity.record_activity import record_action, record_draft_begun, record_listing
from publishing.drafts.drafts import delete_draft
from publishing.models import Draft, Issue
from publishing.progress.edition_history import words_of
from publishing.publish.publish import publish
from subscribers import record_activity as of_imports
from subscribers import record_activity as of_readers
from subscribers.models import Subscriber, SubscriberImport
from tests.publishing.author_browser import Page, WindowOf, address
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import in_doubt
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory

LOG = "/admin/newsletters/log/"


DROPPED = "dropped the copies of version 2 of It from the command line"


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        ("Published version 1 to 3 readers.", "published It to 3 readers"),
        ("Published version 2 to all: 3 readers.", "published version 2 of It to all: 3 readers"),
        ("Resumed, version 1.", "resumed It"),
        ("Sent to the missed, version 2.", "sent to the missed version 2 of It"),
        ("Paused from the command line, version 1.", "paused It from the command line"),
        ("Version 1 went out by itself, late.", "scheduled It, which went out by itself, late"),
        ("Version 2 went out by itself.", "scheduled version 2 of It, which went out by itself"),
        ("Looked at the alarms of, version 2.", "looked at the alarms of version 2 of It"),
        ("Looked at the alarms, version 1.", "looked at the alarms of It"),
        ("Downloaded all readers of version 1 as CSV.", "downloaded all readers of It as CSV"),
        ("Dropped the copies from the command line, version 2.", DROPPED),
        ("Made unlisted.", "made It unlisted"),
        ("Imported, asking each to confirm.", "imported It, asking each to confirm"),
        ("Uploaded to be checked.", "uploaded It to be checked"),
        ("Dropped; nobody was imported.", "dropped It; nobody was imported"),
        ("Downloaded the record.", "downloaded the record of It"),
        ("Added.", "added It"),
        ("Changed Name and Tagline.", "changed Name and Tagline of It"),
        ("Something that nobody thought of.", "something that nobody thought of: It"),
        ("DNS was looked at.", "DNS was looked at: It"),
    ],
)
def test_the_thing_stands_in_its_place(kept: str, sentence: str) -> None:
    assert str(said(kept, "It")) == sentence


def test_a_title_that_looks_like_one_of_our_sentences_is_only_a_title() -> None:
    assert (
        str(said("Resumed, version 1.", "Erased, version {0}.")) == "resumed Erased, version {0}."
    )


pytestmark = pytest.mark.django_db(transaction=True)


def rows(page: Page) -> list[str]:
    """What was done, line by line, without the time, as HTML."""
    return re.findall(r'<li>\s*<span class="quiet">.*?</span>(.*?)</li>', page.source, re.S)


def lines(page: Page) -> list[str]:
    """The same in words."""
    return [" ".join(re.sub(r"<[^>]+>", "", row).split()) for row in rows(page)]


@pytest.fixture
def operator(django_user_model: Any) -> Any:
    return django_user_model.objects.create_superuser("ola", password="a long password")


@pytest.fixture
def done(author: Any, operator: Any, three_readers: list[Subscriber]) -> Any:
    """An issue was published, paused and unlisted, a list imported, a reader erased."""
    edition = publish(author.pk, "k", letter("Herons"), hold_s=0).edition
    record_action(author.pk, edition, "paused")
    record_listing(operator.pk, edition.issue_id, unlisted=True)
    list_of_readers = SubscriberImportFactory(filename="village-fair.csv", confirmed=False)
    of_imports.record_import(operator.pk, list_of_readers)
    of_readers.record_action(operator.pk, three_readers[0].pk, "Erased.")
    of_readers.record_action(operator.pk, three_readers[1].pk, "Downloaded the record.")
    of_readers.record_export(operator.pk, "")
    return edition


def test_everything_that_was_done_stands_there_newest_first(
    operator: Any, done: Any, three_readers: list[Subscriber]
) -> None:
    erased, other, _ = three_readers
    page = WindowOf(operator).get(LOG)
    assert lines(page) == [
        "ola downloaded the list of readers as CSV",
        f"ola downloaded the record of reader {other.pk}",
        f"ola erased reader {erased.pk}",
        "ola imported village-fair.csv, asking each reader to confirm",
        "ola made Herons unlisted",
        "Edith Marlow paused Herons",
        "Edith Marlow published Herons to 3 readers",
    ]
    assert f'href="/admin/newsletters/{done.issue_id}/"' in page.html
    assert f'href="/admin/newsletters/readers/{other.pk}/"' in page.html
    # There is no page of somebody who is gone.
    assert f'href="/admin/newsletters/readers/{erased.pk}/"' not in page.html


def test_a_draft_is_led_to_where_it_is_there_and_its_reader_may_open_it(
    author: Any, new_author: Any
) -> None:
    there, gone = (
        Draft.objects.create(title=title, saved_by=author) for title in ("Swifts", "Moths")
    )
    record_draft_begun(author.pk, there)
    record_draft_begun(author.pk, gone)
    delete_draft(gone.pk, by=author.pk)

    page = WindowOf(author).get(LOG)
    assert len(lines(page)) == 3
    assert page.html.count(f'href="/admin/newsletters/drafts/{there.pk}/"') == 1
    assert str(gone.pk) not in page.html
    operator = WindowOf(new_author("olaf", "operate_sending")).get(LOG)
    assert len(lines(operator)) == 3
    assert str(there.pk) not in operator.html


@pytest.mark.parametrize("key", [None, "no id"])
@pytest.mark.parametrize("thing", [Draft, Issue, SubscriberImport, Subscriber, get_user_model()])
def test_an_entry_that_names_no_id_is_shown_and_leads_nowhere(
    operator: Any, author: Any, thing: Any, key: str | None
) -> None:
    there = Draft.objects.create(title="Swifts", saved_by=author)
    record_draft_begun(author.pk, there)
    LogEntry.objects.create(
        user=author,
        content_type=ContentType.objects.get_for_model(thing),
        object_id=key,
        object_repr="Moths",
        action_flag=2,
        change_message="Saved.",
    )

    page = WindowOf(operator).get(LOG)
    assert page.status == 200
    newest, other = lines(page)
    assert newest.startswith("Edith Marlow saved")
    assert "Swifts" in other
    assert page.html.count(f'href="/admin/newsletters/drafts/{there.pk}/"') == 1
    if not key:
        assert "<a" not in rows(page)[0]


@pytest.mark.parametrize(
    ("permission", "seen"),
    [
        ("publish_edition", {"made", "paused", "published"}),
        ("operate_sending", {"made", "paused", "published", "changed"}),
        ("manage_readers", {"downloaded", "erased", "imported"}),
    ],
)
def test_everybody_sees_what_they_have_to_do_with(
    new_author: Any, operator: Any, done: Any, permission: str, seen: set[str]
) -> None:
    window = WindowOf(operator)
    account = new_author("ines", permission)
    LogEntry.objects.log_actions(operator.pk, [account], 2, "Changed Groups.", single_object=True)

    found = lines(WindowOf(account).get(LOG))
    assert {line.replace("Edith Marlow", "edith").split()[1] for line in found} == seen
    for kind in ("issues", "imports", "readers", "accounts"):
        assert set(lines(WindowOf(account).get(f"{LOG}?kind={kind}"))) <= set(found)
    assert len(lines(window.get(LOG))) == 8


def test_it_is_looked_through_by_person_and_by_kind(author: Any, operator: Any, done: Any) -> None:
    window = WindowOf(operator)
    assert len(lines(window.get(f"{LOG}?person={author.pk}"))) == 2
    assert lines(window.get(f"{LOG}?kind=issues&person={operator.pk}")) == [
        "ola made Herons unlisted"
    ]
    page = window.get(f"{LOG}?kind=accounts")
    assert lines(page) == []
    for nonsense in ("?kind=nothing", "?person=nobody", "?before=-1", "?before=99999999999999"):
        assert len(lines(window.get(f"{LOG}{nonsense}"))) == 7


def test_the_next_page_begins_where_this_one_ends_whatever_was_done_meanwhile(
    author: Any, operator: Any
) -> None:
    for number in range(60):
        of_readers.record_action(author.pk, number + 1, "Downloaded the record.")
    window = WindowOf(operator)
    first = window.get(LOG)
    of_readers.record_action(author.pk, 99, "Downloaded the record.")
    older = re.search(r'href="(\?[^"]*)" rel="next"', first.html)
    assert older
    second = window.get(LOG + older[1].replace("&amp;", "&"))

    numbers = [int(line.split()[-1]) for line in lines(first) + lines(second)]
    assert numbers == list(range(60, 0, -1))


def test_it_takes_as_many_queries_for_many_entries_as_for_few(operator: Any, author: Any) -> None:
    window = WindowOf(operator)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            window.get(LOG)
        return len(captured)

    of_readers.record_action(author.pk, 1, "Downloaded the record.")
    queries()  # what kinds of things there are is asked once
    few = queries()
    for number in range(30):
        reader = SubscriberFactory()
        of_readers.record_action(author.pk, reader.pk, f"Downloaded the record {number}.")
    assert queries() == few <= 10


def happened(page: Page) -> list[str]:
    """The words of the history."""
    part = re.search(r'<h2 id="what">.*?</section>', page.html, re.S)[0]
    return re.findall(r"</time><span>([^<]*)</span>", part)


def test_the_history_of_an_edition_says_who_did_what_and_what_homing_did(
    window: WindowOf, edition: Edition
) -> None:
    for action in ("pause", "resume"):
        window.post(address(edition, f"{action}/"))
    assert happened(window.get(address(edition))) == [
        "Edith Marlow: resumed",
        "Edith Marlow: paused",
        "Edith Marlow: published to 3 readers",
    ]

    Edition.objects.filter(pk=edition.pk).update(
        control="stopped", control_reason="Postmark refuses the sender.", control_at=Now()
    )
    in_doubt(edition, "Ada")
    words = happened(window.get(address(edition)))
    assert "Homing stopped it: Postmark refuses the sender" in words
    assert "No answer came back about 1 copy" in words


def test_every_version_has_its_own_and_what_is_about_the_issue_stands_with_all():
    assert words_of("Paused, version 1.", "Edith", 1) == "Edith: paused"
    assert words_of("Paused, version 1.", "Edith", 2) == ""
    assert words_of("Paused, version 12.", "Edith", 1) == ""
    assert words_of("Published version 2 to everyone confirmed: 3 readers.", "E", 2) == (
        "E: published to everyone confirmed: 3 readers"
    )
    assert words_of("Made unlisted.", "Edith", 2) == "Edith: made unlisted"


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ("Looked at the alarms, version 2.", "Edith: looked at the alarms"),
        (
            "Downloaded the waiting readers of version 2 as CSV.",
            "Edith: downloaded the waiting readers as CSV",
        ),
        (
            "Version 2 went out by itself at its time, to 3 readers.",
            "It went out by itself at its time, to 3 readers",
        ),
    ],
)
def test_without_its_version_it_is_a_sentence_and_stands_with_that_version_alone(kept, words):
    assert words_of(kept, "Edith", 2) == words
    assert words_of(kept, "Edith", 1) == ""
