"""The later readings of an open progress page: told again only where there is something new."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from delivery.models import Batch, Worker
from publishing.publish.publish import publish
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import sent

pytestmark = pytest.mark.django_db(transaction=True)


def look(window, edition, query="", tag=None):
    """What a page is answered that has seen the reading with this tag."""
    headers = {"If-None-Match": tag} if tag else {}
    return window.client.get(
        f"/admin/newsletters/{edition.issue_id}/progress.json?version=1{query}",
        secure=True,
        headers=headers,
    )


def test_who_knows_what_is_so_is_told_when_and_nothing_else(window, edition):
    first = look(window, edition)
    second = look(window, edition, tag=first["ETag"])

    assert (first.status_code, second.status_code) == (200, 304)
    assert second.content == b""
    assert second["ETag"] == first["ETag"]
    assert second["Homing-Updated"] >= first["Homing-Updated"]
    assert first["Cache-Control"] == second["Cache-Control"] == "no-store"


def test_a_worker_that_is_still_there_and_a_hold_that_runs_on_are_no_news(
    window, author, three_readers
):
    held = publish(author.pk, "k", letter(), hold_s=600).edition
    worker = Worker.objects.create(id=held.issue_id, host="h", pid=1)
    before = look(window, held)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE worker SET heard_at = clock_timestamp() + interval '1 s'")
    # A whole second of the hold has run by.
    shown = before.json()["page"]["held_s"]
    while look(window, held).json()["page"]["held_s"] == shown:
        pass

    assert look(window, held, tag=before["ETag"]).status_code == 304
    worker.delete()
    assert look(window, held, tag=before["ETag"]).status_code == 200


@pytest.mark.parametrize(
    "news",
    [
        lambda edition: sent(edition, "Ada"),
        lambda edition: call_command("edition", "pause", str(edition.issue_id)),
        lambda _: Batch.objects.update(reason="Postmark is away.", due_at="2099-01-01T00:00Z"),
        lambda _: Batch.objects.update(bounced=1),
    ],
    ids=["a copy went out", "paused", "put off", "a copy came back"],
)
def test_whatever_the_page_shows_is_news(window, edition, news):
    Worker.objects.create(id=edition.issue_id, host="h", pid=1)
    before = look(window, edition)
    news(edition)

    after = look(window, edition, tag=before["ETag"])

    assert after.status_code == 200
    assert after["ETag"] != before["ETag"]


def test_the_answer_says_when_to_ask_again_by_what_it_says_and_how_often_it_was_no_news(
    window, edition
):
    first = look(window, edition)
    tag = first["ETag"]
    pauses = [float(look(window, edition, f"&same={n}", tag)["Homing-Ask-Again"]) for n in range(8)]
    hidden = look(window, edition, "&hidden=1", tag)

    assert float(first["Homing-Ask-Again"]) == 2
    assert (pauses[0], pauses[-1]) == (10, 60)
    assert pauses == sorted(pauses)
    assert float(hidden["Homing-Ask-Again"]) == 60
    for strange in ("&same=x", "&same=-1", f"&same={'9' * 99}", "&page=%00&hidden=2"):
        assert float(look(window, edition, strange, tag)["Homing-Ask-Again"]) == 10


def test_pages_that_ask_within_a_second_share_one_reading_of_the_books(window, edition):
    look(window, edition, "&page=page0")

    with CaptureQueriesContext(connection) as queries:
        for number in range(1, 4):
            assert look(window, edition, f"&page=page{number}").status_code == 200

    about_books = [
        query["sql"] for query in queries if '"edition"' in query["sql"] or "batch" in query["sql"]
    ]
    # One reading at most, where the first second ended meanwhile.
    assert len(about_books) <= 2


def test_a_scripts_reading_is_its_own_and_always_fresh(window, new_author, edition):
    look(window, edition, "&page=page0")
    sent(edition, "Ada")

    assert look(window, edition).json()["sent"] == 1
    # What is shared is shared only with those who may look.
    stranger = WindowOf(new_author("stranger", "view_newsletter"))
    assert look(stranger, edition, "&page=page1").status_code == 403
    sent(edition)
    assert look(window, edition)["Homing-Ask-Again"] == "never"
