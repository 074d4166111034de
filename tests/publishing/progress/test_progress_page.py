"""The progress of an issue, on the page and as JSON."""

import json
import re
import uuid
from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.db.models import TextField, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from delivery.feedback.record_delivery_event import record_delivered
from delivery.models import Alarm, Attempt, Batch, Delivery, Edition, Newsletter
from delivery.monitoring import worker_heartbeat
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.reason import Reason, ReasonCode
from subscribers.leaving.leave import leave
from subscribers.models import Subscriber
from tests.delivery.because import because
from tests.publishing.author_browser import address
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import hold_is_over, written
from tests.publishing.publish_with import publish
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

OUTCOMES = ("sent", "unknown", "failed", "suppressed", "withdrawn", "waiting")
UNKNOWN_ISSUE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def edition(author, settings):
    """Publish a letter to 100 readers in five batches without a hold."""
    Subscriber.objects.bulk_create(SubscriberFactory.build_batch(100))
    settings.DELIVERY_BATCH_SIZE = 20
    return publish(author.pk, "k", letter("On the patience of herons"), hold_s=0).edition


def settled(edition, number, **counts):
    """Settle a batch with these numbers of copies by outcome; mark the rest as sent."""
    batch = Batch.objects.filter(edition=edition).order_by("pk")[number]
    copies = Delivery.objects.filter(batch=batch).order_by("recipient")
    left = list(copies.values_list("recipient", flat=True))
    for outcome, count in counts.items():
        chosen, left = left[:count], left[count:]
        copies.filter(recipient__in=chosen).update(outcome=outcome, reason=f"because {outcome}")
    copies.filter(recipient__in=left).update(
        outcome="sent", sent_at=edition.published_at, evidence="reply",
        provider_message_id=Concat(Value("m-"), Cast("recipient", TextField())),
    )  # fmt: skip
    in_doubt = bool(counts.get("unknown"))
    Batch.objects.filter(pk=batch.pk).update(
        state="unknown" if in_doubt else "done",
        unknown_since=edition.published_at if in_doubt else None,
        waiting=0, sent=len(left), **counts,
    )  # fmt: skip


def ledger(page):
    """Return the counts in the page's table, with the labels of the rows as keys."""
    number = r"</th><td class=\"num\"[^>]*>([\d,]+)</td>"
    rows = re.findall(rf"</svg>(\w+)</span>{number}", page.html)
    rows += re.findall(rf"<th scope=\"row\">(Audience){number}", page.html)
    return {word.lower(): int(number.replace(",", "")) for word, number in rows}


def test_page_shows_what_became_of_the_sent_copies(window, edition):
    settled(edition, 0)
    assert 'id="result-delivered">0<' in window.get(address(edition)).html
    copies = Delivery.objects.filter(issue=edition.issue_id, outcome="sent")
    for copy in copies[:3]:
        key = DeliveryKey(copy.issue_id, copy.version, copy.recipient_id)
        record_delivered(key, timezone.now())
    leave(copies[0].recipient_id)
    page = window.get(address(edition)).html
    assert 'id="result-delivered">3<' in page
    assert "15.0 %" in page
    assert 'id="result-unsubscribed">1<' in page


def test_page_json_and_command_agree_and_match_the_audience(window, edition, capsys):
    settled(edition, 0, failed=2, suppressed=3)
    settled(edition, 1, withdrawn=5)
    settled(edition, 2, unknown=20)

    counts = ledger(window.get(address(edition)))
    json_page = window.get(address(edition, "progress.json"))
    call_command("issue_status", str(edition.issue_id))
    status = json.loads(capsys.readouterr().out)

    counts["unknown"] = counts.pop("unconfirmed")
    assert set(counts) == {*OUTCOMES, "audience"}
    assert [counts[name] for name in (*OUTCOMES, "audience")] == [30, 20, 2, 3, 5, 40, 100]
    progress = json_page.answer.json()
    assert {name: progress[name] for name in status} == status
    assert {name: progress[name] for name in counts} == counts
    assert progress["rate"] >= 0
    assert progress["eta_s"] is None or progress["eta_s"] >= 0
    assert json_page.answer["Cache-Control"] == "no-store"


def test_bounces_are_shown_outside_the_total(window, edition):
    settled(edition, 0)
    Batch.objects.filter(edition=edition, sent=20).update(bounced=7, complained=1)
    counts = ledger(window.get(address(edition)))
    assert counts["audience"] == 100 == sum(counts.values()) - 100
    page = window.get(address(edition)).html
    assert 'id="result-bounced">7<' in page
    assert 'id="result-complained">1<' in page


def test_progress_json_takes_few_queries(window, edition, django_assert_max_num_queries):
    window.get(address(edition, "progress.json"))

    with django_assert_max_num_queries(4) as queries:
        window.get(address(edition, "progress.json"))

    # The page may make one query for the session, one for the user with permissions, and one for
    # the counts.
    assert len([query for query in queries if 'FROM "newsletter"' not in query["sql"]]) <= 3
    assert not [query for query in queries if 'FROM "delivery"' in query["sql"]]


def test_a_held_edition_shows_when_sending_starts(window, author, three_readers):
    held = publish(author.pk, "k", letter("Held"), hold_s=3600).edition

    page = window.get(address(held, "?version=1&outcome=sent"))

    assert f"{held.held_until:%H:%M:%S}" in page.words
    # If scripts are off, the page reloads itself and keeps the chosen list of readers.
    there = address(held, "?version=1&amp;outcome=sent")
    assert re.search(rf'http-equiv="refresh" content="\d+; url={re.escape(there)}">', page.html)
    assert "View in archive" not in page.words
    assert not re.search("<dt>(Rate|Time left)</dt>", page.html)

    hold_is_over(held)
    page = window.get(address(held))
    assert re.search("<dt>Time left</dt>", page.html)
    link = re.search(r'href="(/archive/[^"]+)" id="archive">View in', page.html)[1]
    assert window.get(link).status == 200


def test_a_succeeded_edition_stops_polling_and_keeps_its_alarm(window, edition):
    for number in range(4):
        settled(edition, number)
    settled(edition, 4, suppressed=2, withdrawn=1)
    Alarm.objects.create(
        edition=edition,
        kind=Alarm.Kind.ACCEPTED_TWICE,
        about="m-2",
        reason=because("Two for reader 7."),
    )

    page = window.get(address(edition))

    assert "97 copies" in page.words
    assert "Two for reader 7." in page.words
    assert 'http-equiv="refresh"' not in page.html
    assert 'data-hx-trigger="look"' in page.html
    # HTML allows at most three decimals of a second.
    assert all(datetime.fromisoformat(at) for at in re.findall('datetime="([^"]*)"', page.html))
    assert not re.search(r'datetime="[^"]*\.[0-9]{4}', page.html)


def time_left(window, edition):
    """Return `eta_s` from the JSON, and the page's words for the time left."""
    progress = window.get(address(edition, "progress.json")).answer.json()
    assert progress["state"] == "sending"
    words = re.search(r'<dd id="time-left">(.*?)</dd>', window.get(address(edition)).html, re.S)[1]
    return progress["eta_s"], " ".join(words.split())


def sent_just_now(edition, copies):
    """Record a call that was answered in the last minute."""
    batch = Batch.objects.filter(edition=edition).first()
    now = timezone.now()
    Attempt.objects.create(
        id=uuid.uuid4(), batch_id=batch.pk, edition=edition, stream="broadcast", epoch=1,
        worker=uuid.uuid4(), messages=copies, accepted=copies, started_at=now, finished_at=now,
        deadline_at=now, result="answered",
    )  # fmt: skip


def test_the_time_left_covers_the_waiting_copies(window, edition):
    assert time_left(window, edition)[0] is None
    settled(edition, 0)
    stuck = time_left(window, edition)
    sent_just_now(edition, 20)
    eta_s, words = time_left(window, edition)

    assert stuck[0] is None
    assert eta_s > 0
    assert words.startswith("about ")


def test_unconfirmed_copies_show_the_next_look_up(window, edition):
    for number in range(4):
        settled(edition, number)
    settled(edition, 4, unknown=20)
    sent_just_now(edition, 80)
    asks_at = timezone.now() + timedelta(minutes=4)
    in_doubt = Batch.objects.filter(edition=edition, state="unknown")

    in_doubt.update(due_at=asks_at)
    later = time_left(window, edition)
    in_doubt.update(due_at=timezone.now())
    now = time_left(window, edition)

    there = asks_at.astimezone(Newsletter.objects.get().zone)
    assert later[0] is now[0] is None
    assert f"{there:%H:%M:%S}" in later[1]


def listed(page):
    found = re.findall(r'<tr><th scope="row">(\S+?)<span', page.html)
    return [address.replace("<wbr>", "") for address in found]


def test_pages_of_a_long_list_have_no_gap_or_repeat(window, edition):
    for number in (0, 2, 3):
        settled(edition, number)
    expected = list(
        Delivery.objects.filter(outcome="sent").order_by("recipient").values_list("address")
    )

    found, link, pages = [], "?outcome=sent", 0
    while link:
        page = window.get(address(edition, link.replace("&amp;", "&").partition("#")[0]))
        found += listed(page)
        pages += 1
        following = re.search(r'<a href="([^"]+)" rel="next">', page.html)
        link = following and following[1]

    assert found == [email for (email,) in expected]
    assert (len(found), pages) == (60, 2)
    assert len(listed(window.get(address(edition, "?outcome=failed")))) == 0


def test_an_unknown_issue_or_version_is_named_in_the_404(window, edition):
    for address_of, named in (
        (f"/admin/newsletters/{UNKNOWN_ISSUE}/", UNKNOWN_ISSUE),
        (f"/admin/newsletters/{UNKNOWN_ISSUE}/progress.json", UNKNOWN_ISSUE),
        (f"/admin/newsletters/{UNKNOWN_ISSUE}/resume/", UNKNOWN_ISSUE),
        (address(edition, "?version=2"), "2"),
        (address(edition, "?version=x"), "“x”"),
        (address(edition, f"?version={'9' * 5000}"), f"“{'9' * 39}…”"),
    ):
        page = window.get(address_of)
        assert page.status == 404
        assert named in page.words


def test_an_older_version_links_to_the_newest(window, author, edition):
    corrected = letter("Herons, corrected")
    publish(author.pk, "k2", corrected, hold_s=0, issue=edition.issue_id, version=2)

    newest, older = window.get(address(edition)), window.get(address(edition, "?version=1"))

    assert "Herons, corrected" in newest.words
    assert "On the patience of herons" in older.words
    assert "version 2" in older.words
    assert window.get(address(edition, "progress.json")).answer.json()["version"] == 2
    issues = window.get("/admin/newsletters/issues/").html.partition('id="issues"')[2]
    assert issues.count('class="title"') == 1
    assert written().count() == 1


def test_pages_say_called_back_and_json_says_cancelled(author, window, three_readers, capsys):
    held = publish(author.pk, "k", letter("Herons"), hold_s=600).edition
    call_command("edition", "call-back", str(held.issue_id))
    page, receipt = window.get(address(held)), window.get(address(held, "receipt/"))
    assert page.title.startswith("Called back: ")
    assert 'id="state">Called back</p>' in page.html
    assert 'data-hx-trigger="look"' in page.html
    assert "View in archive" not in page.words
    for shown in (page, receipt):
        assert "Called back. It was sent to nobody. Its text is kept." in shown.words
        assert "called back before sending" in shown.words
        assert "stopped or unsubscribed before sending" not in shown.words
    capsys.readouterr()
    call_command("issue_status", str(held.issue_id))
    assert json.loads(capsys.readouterr().out)["state"] == "cancelled"
    signed = window.get(address(held, "receipt/receipt.json")).answer.json()
    assert signed["receipt"]["state"] == "cancelled"


def test_unconfirmed_copies_of_a_cancelled_issue_are_not_unsent(window, edition):
    settled(edition, 0)
    settled(edition, 1, unknown=20)
    call_command("edition", "cancel", str(edition.issue_id))

    page = window.get(address(edition))

    for number in ("20 readers", "60 readers did not", "20 copies"):
        assert number in page.words
    pause = re.search(r'data-hx-trigger="load delay:([\d.]+)s, look"', page.html)[1]
    assert 1.8 <= float(pause) <= 2.2


def test_a_workers_warning_is_shown(window, edition):
    found = "UNSUBSCRIBE_HANDLING is 'own', but Postmark's stream 'broadcast' says 'Postmark'."
    problem = Reason.of(ReasonCode.OTHER, text=found)
    worker_heartbeat.beat(uuid.uuid4(), host="letterbox", pid=4711, problems=[problem])
    for page in ("/admin/newsletters/issues/", address(edition)):
        assert window.get(page).words.count(found) == 1


def test_the_unconfirmed_section_shows_who_decides(window, edition):
    section = 'aria-labelledby="doubt"'
    assert section not in window.get(address(edition)).html
    settled(edition, 0, unknown=20)
    for number in range(1, 5):
        settled(edition, number)

    asked = window.get(address(edition))
    Batch.objects.filter(unknown=20).update(state="parked")
    parked = window.get(address(edition))

    assert section in asked.html
    assert "20 copies were sent" in asked.words
    assert "Homing looks up what Postmark accepted" in asked.words
    assert "until you decide" in parked.words
    for text in ("Homing looks up", "Homing is looking them up"):
        assert text not in parked.words


def test_a_stop_shows_whether_any_copy_failed(window, edition):
    Batch.objects.filter(edition=edition, state="ready").update(state="paused")
    Edition.objects.update(control="stopped", control_reason="Postmark refuses the sender.")
    text = "No copy was marked as failed."
    assert text in window.get(address(edition)).words
    settled(edition, 0, failed=1)
    assert text not in window.get(address(edition)).words
