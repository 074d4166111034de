"""The readers of an edition by outcome: list, search and CSV file."""

import csv
import io
import re
import tracemalloc
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from delivery.models import Batch, Delivery
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.progress.outcome_sentences import why_of
from publishing.progress.reader_outcomes import every_delivery, outcome_page
from publishing.publish.publish_edition import publish
from subscribers.data_requests.erase import erase
from subscribers.models import Subscriber
from tests.publishing.author_browser import WindowOf, address
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import in_doubt, sent
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

LISTED = re.compile(
    r'<tr><th scope="row">(?:<a href="([^"]*)">)?(?:<i class="quiet">)?([^<]+(?:<wbr>[^<]+)*)<'
)


def failed(edition, name, *, missed=True, reason="All tries were used up."):
    """Mark the copy of this reader as failed."""
    delivery = Delivery.objects.get(issue=edition.issue_id, name=name)
    Delivery.objects.filter(pk=delivery.pk).update(
        outcome="failed", reason=reason, missed=missed or None
    )
    Batch.objects.filter(pk=delivery.batch_id).update(
        waiting=F("waiting") - 1, failed=F("failed") + 1, missed=F("missed") + int(missed)
    )


def listed(page):
    """Return the addresses in the list on the page, with their links."""
    return {
        name.replace("<wbr>", ""): leads_to or None
        for leads_to, name in LISTED.findall(page.html.partition('id="list"')[2])
    }


def rows(window, edition, query=""):
    """Download the CSV file, and return it and its rows."""
    answer = window.client.get(address(edition, f"readers.csv{query}"), secure=True)
    assert answer.status_code == 200
    text = b"".join(answer.streaming_content).decode()
    return answer, list(csv.DictReader(io.StringIO(text)))


def test_each_reader_has_outcome_time_and_evidence(window, edition):
    sent(edition, "Ada")
    failed(edition, "Bram")
    Delivery.objects.filter(name="Ada").update(delivered_at=F("sent_at"))

    page = window.get(address(edition, "?outcome=all"))

    tabs = re.findall(r'outcome=(\w+)#list"[^>]*>\w+ <span class="small"[^>]*>([\d,]+)<', page.html)
    assert tabs == [
        ("all", "3"), ("sent", "1"), ("unknown", "0"), ("failed", "1"), ("suppressed", "0"),
        ("withdrawn", "0"), ("waiting", "1"), ("missed", "1"),
    ]  # fmt: skip
    assert list(listed(page)) == [f"{n}@posthouse.example" for n in ("ada", "bram", "cleo")]
    at = f"{Delivery.objects.get(name='Ada').sent_at:%H:%M:%S}"
    ada = Delivery.objects.get(name="Ada").provider_message_id
    assert re.search(rf"Sent {at} [^;]* {ada}; delivered {at}", page.words)
    assert "Failed All tries were used up." in page.words
    Delivery.objects.filter(name="Ada").update(bounced_at="2031-05-04T08:00:00Z")
    page = window.get(address(edition, "?outcome=sent"))
    assert "bounced Sun 4 May 2031, 08:00:00" in page.words


def test_readers_without_a_copy_are_listed_by_default(window, edition):
    assert len(listed(window.get(address(edition)))) == 3
    sent(edition, "Ada")
    in_doubt(edition, "Bram")
    assert list(listed(window.get(address(edition)))) == ["bram@posthouse.example"]
    failed(edition, "Cleo")
    assert list(listed(window.get(address(edition)))) == ["cleo@posthouse.example"]


@pytest.mark.parametrize(
    ("outcome", "state", "text"),
    [
        ("waiting", "ready", "queued"),
        ("waiting", "sending", "being sent"),
        ("unknown", "parked", "An author must decide"),
    ],
)
def test_a_copy_without_a_result_shows_its_place(outcome, state, text):
    batch = SimpleNamespace(state=state, reason=None, lookups=3)
    why = why_of(SimpleNamespace(outcome=outcome, reason=None, batch=batch), str)
    assert text in why
    assert "look-up" not in why


def test_a_waiting_copy_is_held_or_paused(window, author, three_readers):
    held = publish(author.pk, "k", letter(), hold_s=600).edition
    until = held.held_until

    def on_the_page():
        page = window.get(address(held))
        (reason,) = set(re.findall(r'<td class="wide-only small">([^<]*)<', page.html))
        return reason

    def in_the_file():
        (reason,) = {row["reason"] for row in rows(window, held)[1]}
        return reason

    assert f"{until:%H:%M:%S}" in on_the_page()
    assert until.isoformat(timespec="seconds") in in_the_file()
    call_command("edition", "pause", str(held.issue_id))
    assert on_the_page() == in_the_file() == "paused"


def test_an_unconfirmed_copy_shows_its_times(window, edition):
    in_doubt(edition, "Ada")
    batch = Batch.objects.get()
    Batch.objects.update(lookups=1)

    page = window.get(address(edition, "?outcome=unknown"))

    assert f"Unconfirmed {batch.unknown_since:%H:%M:%S} " in page.words
    assert f"{batch.due_at:%H:%M:%S}" in page.words


def test_a_reader_is_found_by_the_start_of_the_address(window, edition):
    sent(edition, "Ada")
    Subscriber.objects.bulk_create(SubscriberFactory.build_batch(200))

    with CaptureQueriesContext(connection) as queries:
        page = window.get(address(edition, "?q=ADA@posthouse"))

    assert list(listed(page)) == ["ada@posthouse.example"]
    assert "accepted, message" in page.words
    searches = [one["sql"] for one in queries if "email_key" in one["sql"]]
    assert len(searches) == 1
    deliveries = [one["sql"] for one in queries if 'FROM "delivery"' in one["sql"]]
    assert len(deliveries) == 1
    # The query selects by the whole primary key: issue, recipient, version.
    assert all(part in deliveries[0] for part in ("issue_id", "recipient_id", "version"))
    assert not listed(window.get(address(edition, "?q=nobody")))


def test_a_reader_outside_the_audience_is_found_and_marked(window, edition):
    SubscriberFactory(email="dora@posthouse.example")

    page = window.get(address(edition, "?q=d"))

    assert list(listed(page)) == ["dora@posthouse.example"]
    assert "Not in the audience" in page.words


def test_a_reader_is_found_by_either_spelling_of_the_domain(window, edition):
    SubscriberFactory(email="dora@xn--mller-kva.example")

    for text in ("dora@müller", "Dora@Müller.example\u200b", "dora@xn--mller-kva.example"):
        assert list(listed(window.get(address(edition, f"?q={quote(text)}")))), text
    assert not listed(window.get(address(edition, f"?q={quote('dora@mä')}")))


def test_search_text_is_not_a_pattern_or_markup(window, edition):
    for text in ("%", "_da", "a%00da", "<b>", "x" * 999):
        page = window.get(address(edition, f"?q={text}"))
        assert page.status == 200
        assert "<b>”" not in page.html
    assert not listed(window.get(address(edition, "?q=%25")))
    assert not listed(window.get(address(edition, "?q=_da")))


def test_managers_get_links_to_readers(window, new_author, edition):
    manager = WindowOf(new_author("manager", "view_issue", "manage_readers"))
    ada = Subscriber.objects.get(name="Ada").pk

    there = listed(manager.get(address(edition, "?outcome=all")))

    assert there["ada@posthouse.example"] == f"/admin/newsletters/readers/{ada}/"
    assert set(listed(window.get(address(edition, "?outcome=all"))).values()) == {None}


def test_an_erased_reader_has_no_address_and_no_link(window, new_author, edition):
    sent(edition)
    erase(Subscriber.objects.get(name="Ada").pk)
    manager = WindowOf(new_author("manager", "view_issue", "manage_readers"))

    page = manager.get(address(edition, "?outcome=sent"))

    assert listed(page)["an erased reader"] is None
    assert "ada@" not in page.html
    assert not listed(manager.get(address(edition, "?q=ada@")))
    assert rows(window, edition)[1][0]["address"] == "an erased reader"


def test_a_viewer_may_not_search_or_download_readers(new_author, edition):
    SubscriberFactory(email="dora@posthouse.example")
    onlooker = WindowOf(new_author("onlooker", "view_issue"))

    page = onlooker.get(address(edition, "?q=dora"))

    assert "dora@" not in page.html
    assert 'name="q"' not in page.html
    assert "readers.csv" not in page.html
    assert onlooker.get(address(edition, "readers.csv")).status == 403
    assert WindowOf(None).get(address(edition, "readers.csv")).status == 302


def test_the_file_holds_one_outcome_and_has_its_name(window, edition):
    sent(edition, "Ada")
    failed(edition, "Bram")

    answer, failures = rows(window, edition, "?version=1&outcome=failed")

    assert [(row["address"], row["outcome"], row["missed"]) for row in failures] == [
        ("bram@posthouse.example", "failed", "yes")
    ]
    assert failures[0]["reason"].startswith("All tries were used up.")
    assert 'filename="on-the-patience-of-herons-v1-failed.csv"' in answer["Content-Disposition"]
    assert answer["Cache-Control"] == "no-store"
    entry = LogEntry.objects.get(action_flag=CHANGE)
    assert plain_sentence_of(entry) == (
        "Edith Marlow downloaded the readers of On the patience of herons with the outcome "
        "“failed” as CSV."
    )
    assert entry.user == window.author
    (ada,) = rows(window, edition, "?outcome=sent")[1]
    assert (ada["message_id"], ada["evidence"], ada["reason"]) == (
        f"1-{ada['reader']}",
        "reply",
        "",
    )
    assert ada["sent_at"].endswith("+00:00")
    assert len(rows(window, edition)[1]) == 3


def test_the_file_of_missed_readers_leaves_out_refused_ones(window, edition):
    failed(edition, "Ada")
    failed(edition, "Bram", missed=False, reason="Postmark refuses the address.")

    page = window.get(address(edition))

    link = re.search(r'href="([^"]*outcome=missed)"', page.html)[1].replace("&amp;", "&")
    answer = window.client.get(link, secure=True)
    text = b"".join(answer.streaming_content).decode()
    assert [row["name"] for row in csv.DictReader(io.StringIO(text))] == ["Ada"]
    assert list(listed(window.get(address(edition, "?outcome=missed")))) == [
        "ada@posthouse.example"
    ]


@pytest.mark.parametrize("query", ["?outcome=nonsense", "?version=7", "?version=x"])
def test_an_unknown_file_is_not_found(window, edition, query):
    assert window.get(address(edition, f"readers.csv{query}")).status == 404


def test_a_long_file_is_complete_and_streams_in_constant_memory(author, settings):
    Subscriber.objects.bulk_create(SubscriberFactory.build_batch(9000))
    settings.DELIVERY_BATCH_SIZE = 500
    edition = publish(author.pk, "k", letter(), hold_s=0).edition
    expected = list(Delivery.objects.order_by("recipient").values_list("recipient", flat=True))

    tracemalloc.start()
    seen, peaks = [], []
    for number, delivery in enumerate(every_delivery(edition.pk, "all"), 1):
        seen.append(delivery.recipient_id)
        if number % 3000 == 0:
            peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()

    assert seen == expected
    # If all rows stayed in memory, 9,000 rows would take three times the memory of 3,000.
    assert peaks[-1] < 1.5 * peaks[0]


def test_copies_settled_while_reading_do_not_end_the_file(author, three_readers, settings):
    settings.DELIVERY_BATCH_SIZE = 1
    edition = publish(author.pk, "k", letter("Herons"), hold_s=0).edition
    moved_on = []

    def settle_first(execute, sql, params, many, context):
        """Mark two copies as sent between the query for batches and the query for copies."""
        if 'FROM "delivery"' in sql and not moved_on:
            moved_on.append(True)
            sent(edition, "Ada", "Bram")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(settle_first):
        deliveries, following = outcome_page(edition.pk, "waiting", limit=1)
    assert deliveries == []
    assert following
    deliveries, following = outcome_page(edition.pk, "waiting", following, limit=1)

    assert [delivery.name for delivery in deliveries] == ["Cleo"]
    assert not following
