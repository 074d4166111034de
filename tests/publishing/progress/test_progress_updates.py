"""An open progress page polls, and gets only the parts of the page that changed."""

import html
import re
from urllib.parse import parse_qs

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from delivery.models import Batch, WorkerHeartbeat
from publishing.drafts.save_draft import open_for_issue
from publishing.models import Draft
from publishing.publish.publish_edition import publish
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import sent

pytestmark = pytest.mark.django_db(transaction=True)


class Answer:
    """The answer to a poll of an open page."""

    def __init__(self, window, edition, query=""):
        self.response = window.client.get(
            f"/admin/newsletters/{edition.issue_id}/?version=1{query}",
            secure=True,
            headers={"HX-Request": "true"},
        )
        self.text = self.response.content.decode()
        poll = re.search(r'data-hx-get="\?([^"]*)" data-hx-trigger="([^"]*)"', self.text)
        following = parse_qs(html.unescape(poll[1])) if poll else {}
        self.seen = following.get("seen", [""])[0]
        self.same = following.get("same", [""])[0]
        pause = re.search(r"delay:([\d.]+)s", poll[2]) if poll else None
        self.after_s = float(pause[1]) if pause else None
        self.has_news = 'id="counts"' in self.text


def test_a_poll_returns_the_parts_only_if_they_changed(window, edition):
    first = Answer(window, edition)
    second = Answer(window, edition, f"&seen={first.seen}")

    assert (first.has_news, second.has_news) == (True, False)
    assert (second.seen, second.same) == (first.seen, "1")
    assert re.search(r"Updated \d\d:\d\d:\d\d", second.text)
    assert second.response["Cache-Control"] == "no-store"


def test_a_poll_and_the_page_show_the_same(window, edition):
    page = window.get(f"/admin/newsletters/{edition.issue_id}/?version=1").html
    parts = Answer(window, edition).text
    for part in ("head", "notices", "counts", "details", "reader-tabs", "hold-clock"):
        whole = re.search(rf'<(\w+)[^>]* id="{part}".*?</\1>', parts, re.S)[0]
        assert shown(whole) in shown(page)


def test_a_poll_names_the_provider(window, edition):
    sent(edition)
    page = window.get(f"/admin/newsletters/{edition.issue_id}/?version=1").html
    for text in (page, Answer(window, edition).text):
        assert "acceptedbyPostmark,withproofforeachcopy" in shown(text)


def shown(text):
    """Return the text of a page without tags and spaces."""
    return "".join(re.sub(r"<[^>]*>", "", text).split())


def test_a_notice_disappears_when_it_is_no_longer_true(window, author, edition):
    draft = open_for_issue(author.pk, edition.issue_id)
    notice = "An open draft contains the next version"
    before = Answer(window, edition)
    assert notice in before.text
    Draft.objects.filter(pk=draft.pk).delete()

    after = Answer(window, edition, f"&seen={before.seen}")

    assert re.search(r'id="notices" data-hx-swap-oob="morph"\s*hidden', after.text)
    assert notice not in after.text


def test_heartbeats_and_a_running_hold_change_no_part(window, author, three_readers):
    held = publish(author.pk, "k", letter(), hold_s=600).edition
    worker = WorkerHeartbeat.objects.create(id=held.issue_id, host="h", pid=1)
    before = Answer(window, held)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE worker SET heard_at = clock_timestamp() + interval '1 s'")
    # Wait until a whole second of the hold has passed.
    clock = re.compile(r'data-clock="(\d+)"')
    while clock.search(Answer(window, held).text)[1] == clock.search(before.text)[1]:
        pass

    assert not Answer(window, held, f"&seen={before.seen}").has_news
    worker.delete()
    assert Answer(window, held, f"&seen={before.seen}").has_news


@pytest.mark.parametrize(
    "news",
    [
        lambda edition: sent(edition, "Ada"),
        lambda edition: call_command("edition", "pause", str(edition.issue_id)),
        lambda _: Batch.objects.update(reason="Postmark is away.", due_at="2099-01-01T00:00Z"),
        lambda _: Batch.objects.update(bounced=1),
    ],
    ids=["a copy went out", "paused", "delayed", "a copy bounced"],
)
def test_poll_returns_a_changed_part(window, edition, news):
    WorkerHeartbeat.objects.create(id=edition.issue_id, host="h", pid=1)
    before = Answer(window, edition)
    news(edition)

    after = Answer(window, edition, f"&seen={before.seen}")

    assert after.has_news
    assert after.seen != before.seen


def test_polls_slow_down_without_changes(window, edition):
    first = Answer(window, edition)
    known = f"&seen={first.seen}"
    pauses = [Answer(window, edition, f"{known}&same={n}").after_s for n in range(8)]
    hidden = Answer(window, edition, f"{known}&hidden=1")

    # The server varies each pause at random by up to a tenth.
    assert 1.8 <= first.after_s <= 2.2
    assert 9 <= pauses[0] <= 11
    assert pauses[1:] == sorted(pauses[1:]) or pauses[-1] >= 54
    assert 54 <= pauses[-1] <= 66
    assert 54 <= hidden.after_s <= 66
    for strange in ("&same=x", "&same=-1", f"&same={'9' * 99}", "&page=%00&hidden=2"):
        assert 9 <= Answer(window, edition, f"{known}{strange}").after_s <= 11


def test_polls_within_a_second_share_one_reading_of_the_counts(window, edition):
    listed = re.search(r'name="listed" id="listed" value="([^"]*)"', page_of(window, edition))[1]
    Answer(window, edition, "&page=0123456789abcde0")

    with CaptureQueriesContext(connection) as queries:
        for number in range(1, 4):
            Answer(window, edition, f"&page=0123456789abcde{number}&listed={listed}")

    about_counts = [query["sql"] for query in queries if "batch" in query["sql"]]
    # Polls that share the counts do not query the batches. Up to three queries are allowed, because
    # the counts are read again if the polls take longer than a second.
    assert len(about_counts) <= 3


def test_a_shared_reading_still_checks_permissions(window, new_author, edition):
    Answer(window, edition)
    stranger = WindowOf(new_author("stranger", "view_newsletter"))
    assert Answer(stranger, edition).response.status_code == 403


def test_the_last_poll_returns_the_final_list(window, edition):
    listed = re.search(r'name="listed" id="listed" value="([^"]*)"', page_of(window, edition))[1]
    sent(edition)
    ended = Answer(window, edition, f"&listed={listed}")
    assert ended.after_s is None
    assert 'id="list"' in ended.text
    now_listed = re.search(r'name="listed" id="listed" value="([^"]*)"', ended.text)[1]
    again = Answer(window, edition, f"&listed={now_listed}&seen={ended.seen}")
    assert 'id="list"' not in again.text


def test_an_outdated_list_is_marked_and_not_reread(window, edition):
    listed = re.search(r'name="listed" id="listed" value="([^"]*)"', page_of(window, edition))[1]
    older = re.compile(r'id="older" data-hx-swap-oob="morph"\s*(hidden)?')
    assert older.search(Answer(window, edition, f"&listed={listed}").text)[1]
    sent(edition, "Ada")
    after = Answer(window, edition, f"&listed={listed}")
    assert 'id="list"' not in after.text
    assert older.search(after.text)[1] is None


def page_of(window, edition):
    return window.get(f"/admin/newsletters/{edition.issue_id}/?version=1").html
