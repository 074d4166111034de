"""The activity log: sentences, permissions, filters and pages."""

import json
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.db.models.functions import Now

from delivery.models import Edition
from publishing.activity.activity_sentences import sentence_of
from publishing.activity.record_issue_activity import (
    record_action,
    record_draft_activity,
    record_listing,
    record_start,
)
from publishing.drafts.save_draft import delete_draft
from publishing.models import Draft, Issue
from subscribers.models import Subscriber, SubscriberImport
from subscribers.record_activity import (
    record_export,
    record_import_activity,
    record_reader_activity,
)
from tests.publishing.author_browser import Page, WindowOf, address
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import in_doubt
from tests.publishing.publish_with import publish
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory

LOG = "/admin/newsletters/log/"


PUBLISHED = {"goes_to": "everyone", "audience": 3, "unlisted": False, "approved_by": ""}
STARTED = {"audience": 3, "late_s": 0, "is_paused": False, "went_out_before": False}
SEVEN = {"utc": "2026-10-25T07:30:00+00:00", "local": "2026-10-25T07:30", "zone": "UTC"}
EIGHT = {"utc": "2026-10-25T08:30:00+00:00", "local": "2026-10-25T08:30", "zone": "UTC"}


def entry_of(code: str, **params: Any) -> LogEntry:
    return LogEntry(action_flag=2, change_message=json.dumps({"code": code, **params}))


def about(entry: LogEntry, thing: str) -> str:
    """Return the sentences as the log shows them."""
    return sentence_of(entry).as_html("Ines", thing)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (entry_of("publish", version=1, **PUBLISHED), "Ines published It to 3 readers."),
        (
            entry_of("publish", version=2, **PUBLISHED | {"approved_by": "Basil"}),
            (
                "Ines published version 2 of It to 3 readers. Audience: all confirmed readers. "
                "Basil approved it."
            ),
        ),
        (entry_of("resume", version=1), "Ines resumed It."),
        (
            entry_of("send-to-missed", version=2),
            "Ines sent version 2 of It to missed readers.",
        ),
        (
            entry_of("pause", version=1, from_command_line=True),
            "Ines paused It. This was done on the command line.",
        ),
        (
            entry_of("start", version=1, **STARTED | {"late_s": 720}),
            (
                "Ines had scheduled It. It went out automatically to 3 readers, 12 minutes late: "
                "no worker had started it."
            ),
        ),
        (
            entry_of("reschedule", version=1, at=EIGHT, before=SEVEN),
            (
                "Ines rescheduled It for Sun 25 Oct 2026, 08:30 UTC. Its time before was "
                "Sun 25 Oct 2026, 07:30 UTC."
            ),
        ),
        (
            entry_of("acknowledge_alarms", version=2),
            "Ines acknowledged the alarms of version 2 of It.",
        ),
        (
            entry_of("download_readers", version=1, outcome="all"),
            "Ines downloaded all readers of It as CSV.",
        ),
        (entry_of("unlist"), "Ines made It unlisted."),
        (entry_of("import"), "Ines imported It. Each reader is asked to confirm."),
        (entry_of("discard"), "Ines discarded It. No reader was imported."),
        (
            entry_of("approve_draft", revision=3),
            "Ines approved revision 3 of the draft It.",
        ),
        (entry_of("painted_green"), "Ines did “painted_green” with It."),
        (LogEntry(action_flag=1, change_message='[{"added": {}}]'), "Ines added It."),
        (
            LogEntry(
                action_flag=2, change_message='[{"changed": {"fields": ["Name", "Tagline"]}}]'
            ),
            "Ines saved It. Changed Name and Tagline.",
        ),
        (LogEntry(action_flag=2, change_message="[]"), "Ines saved It without changes."),
        (LogEntry(action_flag=3, change_message=""), "Ines deleted It."),
    ],
)
def test_each_code_has_a_sentence(entry: LogEntry, sentence: str) -> None:
    assert about(entry, "It") == sentence


pytestmark = pytest.mark.django_db(transaction=True)


def rows(page: Page) -> list[str]:
    """Return the entries on the page as HTML, without their times."""
    return re.findall(r'<li>\s*<span class="quiet">.*?</span>(.*?)</li>', page.source, re.S)


def lines(page: Page) -> list[str]:
    """Return the entries on the page as text, without their times."""
    return [" ".join(re.sub(r"<[^>]+>", "", row).split()) for row in rows(page)]


@pytest.fixture
def operator(django_user_model: Any) -> Any:
    return django_user_model.objects.create_superuser("ola", password="a long password")


@pytest.fixture
def done(author: Any, operator: Any, three_readers: list[Subscriber]) -> Any:
    """Perform actions for the log: publish, pause, unlist, import and erase."""
    edition = publish(author.pk, "k", letter("Herons"), hold_s=0).edition
    record_action(author.pk, edition, "pause")
    record_listing(operator.pk, edition.issue_id, unlisted=True)
    list_of_readers = SubscriberImportFactory(filename="village-fair.csv", confirmed=False)
    record_import_activity("import", operator.pk, list_of_readers)
    record_reader_activity("erase", operator.pk, three_readers[0].pk)
    record_reader_activity("download_data", operator.pk, three_readers[1].pk)
    record_export(operator.pk, "")
    return edition


def test_the_log_lists_all_actions_newest_first(
    operator: Any, done: Any, three_readers: list[Subscriber]
) -> None:
    erased, other, _ = three_readers
    page = WindowOf(operator).get(LOG)
    assert lines(page) == [
        "ola downloaded the list of readers as CSV.",
        f"ola downloaded the data of reader {other.pk}.",
        f"ola erased reader {erased.pk}.",
        "ola imported village-fair.csv. Each reader is asked to confirm.",
        "ola made Herons unlisted.",
        "Edith Marlow paused Herons.",
        "Edith Marlow published Herons to 3 readers.",
    ]
    assert f'href="/admin/newsletters/{done.issue_id}/"' in page.html
    assert f'href="/admin/newsletters/readers/{other.pk}/"' in page.html
    # An erased reader has no page, so the entry has no link.
    assert f'href="/admin/newsletters/readers/{erased.pk}/"' not in page.html


def test_a_draft_is_linked_if_the_viewer_may_open_it(author: Any, new_author: Any) -> None:
    there, gone = (
        Draft.objects.create(title=title, saved_by=author) for title in ("Swifts", "Moths")
    )
    record_draft_activity("begin_draft", author.pk, there)
    record_draft_activity("begin_draft", author.pk, gone)
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
def test_an_entry_without_an_id_has_no_link(
    operator: Any, author: Any, thing: Any, key: str | None
) -> None:
    there = Draft.objects.create(title="Swifts", saved_by=author)
    record_draft_activity("begin_draft", author.pk, there)
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
        ("operate_sending", {"made", "paused", "published", "saved"}),
        ("manage_readers", {"downloaded", "erased", "imported"}),
    ],
)
def test_each_permission_shows_its_own_part(
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


def test_the_log_is_filtered_by_user_and_category(author: Any, operator: Any, done: Any) -> None:
    window = WindowOf(operator)
    assert len(lines(window.get(f"{LOG}?person={author.pk}"))) == 2
    assert lines(window.get(f"{LOG}?kind=issues&person={operator.pk}")) == [
        "ola made Herons unlisted."
    ]
    page = window.get(f"{LOG}?kind=accounts")
    assert lines(page) == []
    for nonsense in ("?kind=nothing", "?person=nobody", "?before=-1", "?before=99999999999999"):
        assert len(lines(window.get(f"{LOG}{nonsense}"))) == 7


def test_new_entries_do_not_shift_the_next_page(author: Any, operator: Any) -> None:
    for number in range(60):
        record_reader_activity("download_data", author.pk, number + 1)
    window = WindowOf(operator)
    first = window.get(LOG)
    record_reader_activity("download_data", author.pk, 99)
    older = re.search(r'href="(\?[^"]*)" rel="next"', first.html)
    assert older
    second = window.get(LOG + older[1].replace("&amp;", "&"))

    numbers = [int(line.split()[-1].rstrip(".")) for line in lines(first) + lines(second)]
    assert numbers == list(range(60, 0, -1))


def test_the_number_of_entries_does_not_change_the_queries(
    operator: Any, author: Any, django_assert_max_num_queries: Any
) -> None:
    for _ in range(30):
        record_reader_activity("download_data", author.pk, SubscriberFactory().pk)
    window = WindowOf(operator)
    window.get(LOG)  # content types are cached after the first request
    with django_assert_max_num_queries(10):
        window.get(LOG)


def happened(page: Page) -> list[str]:
    """Return the sentences that the issue's page has in its history."""
    part = re.search(r'<h2 id="what">.*?</section>', page.html, re.S)[0]
    return re.findall(r"</time><span>([^<]*)</span>", part)


def test_the_history_shows_actions_of_users_and_of_homing(
    window: WindowOf, edition: Edition
) -> None:
    for action in ("pause", "resume"):
        window.post(address(edition, f"{action}/"))
    assert happened(window.get(address(edition))) == [
        "Edith Marlow resumed version 1.",
        "Edith Marlow paused version 1.",
        "Edith Marlow published version 1 to 3 readers.",
    ]

    Edition.objects.filter(pk=edition.pk).update(
        control="stopped", control_reason="Postmark refuses the sender.", control_at=Now()
    )
    in_doubt(edition, "Ada")
    words = happened(window.get(address(edition)))
    assert "Homing stopped it: Postmark refuses the sender." in words
    assert "No answer came back for 1 copy." in words
    Edition.objects.filter(pk=edition.pk).update(control="paused")
    words = happened(window.get(address(edition)))
    assert "Homing paused it: Postmark refuses the sender." in words


def test_a_version_shows_its_own_history_and_its_issues(
    author: Any, window: WindowOf, edition: Edition
) -> None:
    second = publish(author.pk, "k2", letter("Herons"), hold_s=0, issue=edition.issue_id, version=2)
    record_action(author.pk, second.edition, "pause")
    record_action(author.pk, second.edition, "acknowledge_alarms")
    record_listing(author.pk, edition.issue_id, unlisted=True)
    record_start(second.edition, 0, is_paused=False)
    assert happened(window.get(f"{address(edition)}?version=1")) == [
        "Edith Marlow made the issue unlisted.",
        "Edith Marlow published version 1 to 3 readers.",
    ]
    assert happened(window.get(f"{address(edition)}?version=2")) == [
        (
            "Edith Marlow had scheduled version 2. "
            "It went out automatically at its time, to 3 readers."
        ),
        "Edith Marlow made the issue unlisted.",
        "Edith Marlow acknowledged the alarms of version 2.",
        "Edith Marlow paused version 2.",
        "Edith Marlow published version 2 to 3 readers. Audience: all confirmed readers.",
    ]
