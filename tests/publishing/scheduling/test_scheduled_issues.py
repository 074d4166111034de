"""A scheduled issue is sent once, at its time, to the readers confirmed by then."""

import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError, OutputWrapper
from django.db import Error, IntegrityError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from delivery.models import Batch, DatabaseIdentity, Delivery, Edition
from delivery.queue import scheduled_editions
from delivery.reconcile import database_identity
from delivery.reconcile.record_findings import end_reconciliation, load_editions
from delivery.reports.audit import find_violations
from delivery.reports.load_edition_counts import load_all_counts
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState
from delivery.rules.reason import Reason, ReasonCode
from delivery.rules.scheduled_time import ScheduledTime
from delivery.worker.drain import Drain
from delivery.worker.worker_process import Worker
from postmark_sandbox.server import SandboxServer
from publishing.actions.action_sentences import button, question
from publishing.actions.edition_actions import CannotDoThatError, applicable, readers_now
from publishing.actions.edition_actions import perform as perform_and_record
from publishing.content.edition_content import Content
from publishing.editions import start_scheduled
from publishing.editions.edition_status import EditionStatus
from publishing.editions.start_scheduled import start_due
from publishing.editions.versions import VersionRefusedError, public_editions
from publishing.models import Issue
from publishing.publish.publish_edition import KeyUsedForOtherContentError, publish
from subscribers.models import Subscriber
from tests.delivery.edition_factory import Newsroom
from tests.publishing.author_browser import WindowOf, address
from tests.publishing.schedule_issue import (
    LISBON,
    log_of,
    make_edition_due,
    schedule,
    scheduled_time_in_zone,
    status,
    tomorrow,
)
from tests.publishing.second_connection import PATIENCE_S, beside


@pytest.fixture
def newsroom(transactional_db: None, settings: Any) -> Newsroom:
    settings.DELIVERY_LEASE_S = 5.0
    settings.DELIVERY_BATCH_SIZE = 2
    return Newsroom()


def copies(provider: SandboxServer) -> dict[str, int]:
    return provider.sandbox.outbox.copies(lambda size: size > 0)


def perform(name: str, edition: Edition, found: EditionStatus) -> str:
    """Run an action without an author."""
    return perform_and_record(name, edition, found, record=lambda _: None)


def rows_of(edition: Edition) -> int:
    batches = Batch.objects.filter(edition=edition).count()
    return batches + Delivery.objects.filter(issue=edition.issue_id).count()


def counts(edition: Edition) -> EditionCounts:
    assert find_violations([edition.pk]) == []
    return status(edition).counts


def test_before_its_time_it_is_frozen_without_audience(newsroom: Newsroom) -> None:
    newsroom.confirm(3)
    moment = tomorrow()
    edition = schedule(newsroom, at=moment)

    assert (edition.control, edition.audience, rows_of(edition)) == ("scheduled", 0, 0)
    assert edition.scheduled_for == moment.utc
    assert (edition.scheduled_local, edition.scheduled_zone) == (moment.local, LISBON)
    assert edition.html_mail
    found = status(edition)
    assert found.state is EditionState.SCHEDULED
    assert moment.words in found.reason()
    assert moment.words in progress_page(newsroom, edition)
    assert (found.as_json()["state"], found.as_json()["waiting"]) == ("scheduled", 0)
    [line] = log_of(edition)
    assert moment.words in line
    assert not start_due()
    assert rows_of(edition) == 0
    assert counts(edition).balanced


def test_database_requires_empty_audience_and_a_moment(newsroom: Newsroom) -> None:
    edition = schedule(newsroom)
    for broken in ({"audience": 1}, {"scheduled_for": None}, {"scheduled_zone": ""}):
        with pytest.raises(IntegrityError):
            Edition.objects.filter(pk=edition.pk).update(**broken)


@pytest.mark.parametrize("time_came", [False, True])
def test_a_scheduled_issue_is_not_public_before_it_starts(
    newsroom: Newsroom, time_came: bool
) -> None:
    edition = schedule(newsroom)
    if time_came:
        make_edition_due(edition)
    public_window, letter = WindowOf(None), f"/archive/{edition.issue.slug}/"
    assert not public_editions().exists()
    for place in ("/archive/", "/archive/feed.xml", "/"):
        assert "Swifts" not in public_window.get(place).html
    assert public_window.get(letter).status == 404

    make_edition_due(edition)
    start_due()

    assert public_editions().exists()
    assert "Swifts" in public_window.get("/archive/").html
    assert public_window.get(letter).status == 200


def test_the_same_key_returns_it_before_and_after_its_time(newsroom: Newsroom) -> None:
    newsroom.confirm(2)
    moment = tomorrow()
    first = schedule(newsroom, at=moment, key="once")
    assert schedule(newsroom, at=moment, key="once") == first
    elsewhere = scheduled_time_in_zone(moment.utc, "Asia/Kolkata")
    assert schedule(newsroom, at=elsewhere, key="once") == first
    assert start_scheduled.start_now(first.pk) == 2
    assert schedule(newsroom, at=moment, key="once") == first
    assert Edition.objects.filter(kind="newsletter").count() == 1


def test_the_same_key_for_another_time_is_other_content(newsroom: Newsroom) -> None:
    moment = tomorrow()
    first = schedule(newsroom, at=moment, key="once")
    later = scheduled_time_in_zone(moment.utc + timedelta(hours=1), LISBON)
    with pytest.raises(KeyUsedForOtherContentError, match=f"for {moment.words[:16]}"):
        schedule(newsroom, at=later, key="once")
    now = Content.from_input(title=first.title, html=first.html_content, text=first.text_content)
    with pytest.raises(KeyUsedForOtherContentError):
        publish(newsroom.author.pk, "once", now, hold_s=0)
    assert Edition.objects.filter(kind="newsletter").count() == 1


def test_at_its_time_it_goes_to_everyone_confirmed_then(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    leaver, _ = newsroom.confirm(2)
    Subscriber.objects.create(email="never@example.net")
    edition = schedule(newsroom)
    newsroom.confirm(2, start=2)
    Subscriber.objects.filter(pk=leaver.pk).update(state="unsubscribed", unsubscribed_at=Now())
    make_edition_due(edition)

    assert start_due()
    assert not start_due()

    edition.refresh_from_db()
    assert (edition.control, edition.audience) == ("running", 3)
    # A scheduled issue has no hold, because the author could cancel it until its time.
    assert edition.held_until == edition.published_at
    newsroom.deliver_all()
    assert counts(edition).sent == 3
    assert status(edition).state is EditionState.SUCCEEDED
    assert sorted(copies(provider).values()) == [1, 1, 1]
    (started,) = log_of(edition)[1:]
    assert "It went out automatically at its time, to 3 readers." in started


def test_two_workers_start_it_once(newsroom: Newsroom) -> None:
    newsroom.confirm(5)
    edition = schedule(newsroom)
    make_edition_due(edition)
    with transaction.atomic():
        # This lock makes the worker wait before it enqueues the edition's copies.
        Edition.objects.select_for_update(no_key=True).get(pk=edition.pk)
        begun = [beside(start_due) for _ in range(2)]
        newsroom.wait_for_a_backend_that_waits_for_a_lock(2, doing='UPDATE "edition"')

    assert sorted(each.result(PATIENCE_S) for each in begun) == [False, True]
    assert counts(edition).audience == 5
    assert Delivery.objects.filter(issue=edition.issue_id).count() == 5
    assert len(log_of(edition)) == 2


def test_worker_killed_before_enqueuing_leaves_the_issue_scheduled(newsroom: Newsroom) -> None:
    newsroom.confirm(5)
    edition = schedule(newsroom)
    make_edition_due(edition)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE batch IN SHARE MODE")
        begun = beside(start_due)
        newsroom.wait_for_a_backend_that_waits_for_a_lock(doing="INSERT INTO batch")
        # End the worker's session at once, as after `kill -9` of the worker.
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock' "
            "AND strpos(query, 'INSERT INTO batch') > 0 AND pid <> pg_backend_pid()"
        )
        with pytest.raises(Error):
            begun.result(PATIENCE_S)

    assert status(edition).state is EditionState.SCHEDULED
    assert rows_of(edition) == 0
    assert len(log_of(edition)) == 1
    assert start_due()
    assert counts(edition).audience == 5


def test_an_issue_that_cannot_start_does_not_delay_others(newsroom: Newsroom) -> None:
    newsroom.confirm(1)
    stuck, fine = schedule(newsroom, title="Stuck"), schedule(newsroom, title="Fine")
    make_edition_due(stuck, ago_s=20)
    make_edition_due(fine)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'no'; END $$;
            CREATE TRIGGER refuses BEFORE INSERT ON batch FOR EACH ROW
            WHEN (NEW.edition_id = {stuck.pk}) EXECUTE FUNCTION refuses()
            """
        )
        try:
            with pytest.raises(Error):
                start_due()
        finally:
            cursor.execute("DROP TRIGGER refuses ON batch; DROP FUNCTION refuses()")
    assert status(stuck).state is EditionState.SCHEDULED
    assert counts(fine).audience == 1


def test_a_scheduled_issue_of_a_deleted_author_is_sent(newsroom: Newsroom) -> None:
    newsroom.confirm(1)
    edition = schedule(newsroom)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_admin_log")
    newsroom.author.delete()
    make_edition_due(edition)
    assert start_due()
    assert counts(edition).audience == 1


def test_slightly_late_issue_is_sent_and_explains_the_delay(newsroom: Newsroom) -> None:
    newsroom.confirm(2)
    edition = schedule(newsroom)
    make_edition_due(edition, ago_s=12 * 60 + 10)
    assert start_due()
    assert status(edition).state is EditionState.SENDING
    assert "2 readers, 12 minutes late" in log_of(edition)[1]
    assert "12 minutes late" in progress_page(newsroom, edition)


def test_too_late_issue_is_published_but_paused(
    newsroom: Newsroom, provider: SandboxServer, settings: Any
) -> None:
    newsroom.confirm(3)
    edition = schedule(newsroom)
    make_edition_due(edition, ago_s=settings.SCHEDULE_LATE_S + 60)
    assert start_due()

    found = status(edition)
    assert found.state is EditionState.PAUSED
    assert found.counts.waiting == found.counts.audience == 3
    edition.refresh_from_db()
    moment = ScheduledTime(edition.scheduled_for, edition.scheduled_local, edition.scheduled_zone)
    assert moment.words in found.reason()
    assert scheduled_time_in_zone(edition.published_at, LISBON).words in found.reason()
    assert not newsroom.step()
    assert "until 61 minutes after its time" in log_of(edition)[1]
    assert found.reason() in progress_page(newsroom, edition)

    perform("resume", edition, found)
    newsroom.deliver_all()
    assert counts(edition).sent == 3
    assert len(copies(provider)) == 3


def progress_page(newsroom: Newsroom, edition: Edition) -> str:
    newsroom.author.is_superuser = newsroom.author.is_staff = True
    newsroom.author.save()
    page = WindowOf(newsroom.author).get(address(edition))
    assert page.status == 200
    return page.html


def test_allowed_actions_on_a_scheduled_issue(newsroom: Newsroom) -> None:
    edition = schedule(newsroom)
    offered = [action.name for action in applicable(status(edition))]
    assert offered == ["call-back", "send-now", "cancel"]
    with pytest.raises(CannotDoThatError, match="you cannot pause it"):
        perform("pause", edition, status(edition))
    for name in ("resume", "close", "send-to-missed", "ask-again", "resend-unknown"):
        with pytest.raises(CannotDoThatError):
            perform(name, edition, status(edition))
    assert status(edition).state is EditionState.SCHEDULED


@pytest.mark.parametrize("name", ["call-back", "cancel"])
def test_an_issue_cancelled_before_its_time_stays_cancelled(newsroom: Newsroom, name: str) -> None:
    newsroom.confirm(3)
    edition = schedule(newsroom)
    perform(name, edition, status(edition))
    make_edition_due(edition)
    assert not start_due()
    assert start_scheduled.start_now(edition.pk) is None
    assert status(edition).state is EditionState.CANCELLED
    assert (counts(edition).audience, rows_of(edition)) == (0, 0)
    assert not public_editions().exists()


def test_started_issue_cannot_be_called_back(newsroom: Newsroom) -> None:
    newsroom.confirm(3)
    edition = schedule(newsroom)
    seen = status(edition)
    make_edition_due(edition)
    start_due()
    with pytest.raises(CannotDoThatError, match="its state changed"):
        perform("call-back", edition, seen)
    assert counts(edition).waiting == 3


def test_send_now_starts_a_scheduled_issue_once(newsroom: Newsroom) -> None:
    newsroom.confirm(3)
    edition = schedule(newsroom)
    # An automatic start this late would pause the issue, but “Send now” sends it.
    make_edition_due(edition, ago_s=90_000)
    perform("send-now", edition, status(edition))
    with pytest.raises(CannotDoThatError):
        perform("send-now", edition, status(edition))
    make_edition_due(edition)
    assert not start_due()
    assert counts(edition).waiting == 3
    assert status(edition).state is EditionState.SENDING


def test_scheduled_correction_goes_to_readers_reached_by_then(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    first = newsroom.publish(4, title="Swifts")
    newsroom.step()
    correction = schedule(
        newsroom, title="Martins", issue=first.issue_id, version=2, goes_to="reached"
    )
    assert Issue.objects.get(pk=first.issue_id).title == "Swifts"
    assert public_editions().get(issue=first.issue_id) == first
    newsroom.deliver_all()
    newsroom.confirm(1, start=4)
    make_edition_due(correction)
    start_due()
    assert counts(correction).audience == 4
    assert Issue.objects.get(pk=first.issue_id).title == "Martins"
    newsroom.deliver_all()
    assert sorted(copies(provider).values()) == [1] * 8


@pytest.mark.parametrize(("goes_to", "copies"), [("unreached", ["Reader 2"]), ("nobody", [])])
def test_a_scheduled_correction_keeps_its_audience_choice(
    newsroom: Newsroom, provider: SandboxServer, goes_to: str, copies: list[str]
) -> None:
    first = newsroom.publish(readers=2)
    newsroom.deliver_all()
    second = schedule(newsroom, issue=first.issue_id, version=2, goes_to=goes_to)
    newsroom.confirm(1, start=2)
    make_edition_due(second)

    assert start_due()

    names = Delivery.objects.filter(version=2).values_list("name", flat=True)
    assert list(names) == copies
    assert status(second).state == ("sending" if copies else "succeeded")


def test_scheduled_correction_starts_while_earlier_version_is_being_sent(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    first = newsroom.publish(4)
    correction = schedule(newsroom, issue=first.issue_id, version=2)
    make_edition_due(correction)
    start_due()
    newsroom.deliver_all()
    assert counts(first).sent == counts(correction).sent == 4


def test_no_later_version_is_published_while_one_waits(newsroom: Newsroom) -> None:
    moment = tomorrow()
    first = schedule(newsroom, at=moment)
    with pytest.raises(VersionRefusedError) as refused:
        schedule(newsroom, issue=first.issue_id, version=2)
    assert moment.words in str(refused.value)
    perform("call-back", first, status(first))
    second = schedule(newsroom, issue=first.issue_id, version=2)
    assert second.version == 2


def test_worker_waits_for_due_but_not_for_future_issues(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    newsroom.publish(2)
    schedule(newsroom)
    assert until_empty() == (1, 2, 2)
    due = schedule(newsroom, title="Martins")
    make_edition_due(due)
    assert until_empty() == (1, 2, 2)
    assert status(due).state is EditionState.SUCCEEDED


def until_empty() -> tuple[int, int, int]:
    """Work until the queue is empty; count editions, readers and sent copies."""
    watch = Drain(OutputWrapper(io.StringIO()), is_terminal=False)
    Worker(1, is_awaited=True).run(until=watch.is_drained)
    totals, _ = watch.totals()
    return totals["editions"], totals["audience"], totals["sent"]


def run_script(*options: str) -> tuple[dict[str, Any], str]:
    printed, messages = io.StringIO(), io.StringIO()
    call_command("publish", "--title", "Swifts", *options, stdout=printed, stderr=messages)
    return json.loads(printed.getvalue().splitlines()[-1]), messages.getvalue()


def test_a_script_schedules_and_asks_again_under_its_key(newsroom: Newsroom, tmp_path: Any) -> None:
    newsroom.confirm(2)
    letter = tmp_path / "letter.txt"
    letter.write_text("They have gone.")
    moment = tomorrow("UTC")
    options = (
        *("--text-file", str(letter), "--author", newsroom.author.username),
        *("--idempotency-key", "once", "--zone", "UTC"),
        *("--at", moment.local.replace("T", " ")),
    )
    answer, messages = run_script(*options)
    assert (answer["created"], answer["audience"]) == (True, 0)
    assert moment.words in messages
    edition = Edition.objects.get(kind="newsletter")
    make_edition_due(edition)
    Edition.objects.filter(pk=edition.pk).update(scheduled_for=moment.utc)
    perform("send-now", edition, status(edition))
    again, _ = run_script(*options)
    assert (again["created"], again["issue"]) == (False, answer["issue"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--zone", LISBON], "--zone needs a time"),
        (["--second"], "--second needs a time"),
        (["--at", "2020-01-01 07:00", "--first", "--second"], "not allowed with"),
        (["--at", "2020-01-01 07:00", "--zone", LISBON], "Wed 1 Jan 2020, 07:00 Europe/Lisbon"),
    ],
)
def test_invalid_time_of_a_script_is_refused_with_sentence(
    newsroom: Newsroom, options: list[str], words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        run_script("--text-file", "README.md", "--author", newsroom.author.username, *options)
    assert not Edition.objects.filter(kind="newsletter").exists()


def test_a_scheduled_issue_does_not_start_in_another_database(newsroom: Newsroom) -> None:
    newsroom.confirm(2)
    edition = schedule(newsroom)
    make_edition_due(edition)
    database_identity.check_identity()
    DatabaseIdentity.objects.update(database=1)
    # No worker has noticed the restore yet, but the SQL that starts editions notices it.
    assert not start_due()
    assert start_scheduled.start_now(edition.pk) is None
    assert not scheduled_editions.cancel(edition.pk, called_back=False)

    assert database_identity.check_identity().stopped == (edition.pk,)

    assert not start_due()
    assert not scheduled_editions.due().exists()
    found = status(edition)
    assert found.state is EditionState.NEEDS_ATTENTION
    assert f"./homing reconcile {edition.issue_id}" in found.reason()
    assert [counts.edition for counts in load_all_counts(open_only=True)] == [edition.pk]
    for name in ("send-now", "call-back", "cancel"):
        with pytest.raises(CannotDoThatError, match="restored from a backup"):
            perform(name, edition, found)
    assert rows_of(edition) == 0


def test_missed_readers_wait_for_a_decision(newsroom: Newsroom, provider: SandboxServer) -> None:
    newsroom.confirm(3)
    edition = schedule(newsroom)
    database_identity.check_identity()
    database_identity.declare_restored()
    assert start_scheduled.start_sent_before_restore(edition.pk)
    assert not start_scheduled.start_sent_before_restore(edition.pk)
    found = status(edition)
    assert found.state is EditionState.NEEDS_ATTENTION
    Edition.objects.filter(pk=edition.pk).update(unreconciled_since=None)
    found = status(edition)
    assert found.state is EditionState.PAUSED
    assert found.counts.control_reason == Reason.of(ReasonCode.SENT_BEFORE_RESTORE)
    assert not newsroom.step()
    assert counts(edition).waiting == 3


def test_scheduled_issue_goes_out_once_after_reconciliation(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    newsroom.confirm(3)
    edition = schedule(newsroom)
    database_identity.check_identity()
    database_identity.declare_restored()
    # The restore was long ago, so an empty search at Postmark proves that nothing was sent.
    Edition.objects.update(unreconciled_since=F("unreconciled_since") - timedelta(hours=1))

    call_command("reconcile", stdout=io.StringIO(), stderr=io.StringIO())
    make_edition_due(edition)

    assert start_due()
    newsroom.deliver_all()
    assert sorted(copies(provider).values()) == [1, 1, 1]


@pytest.mark.parametrize("goes_to", ["reached", "unreached"])
def test_scheduled_correction_waits_for_earlier_versions_to_be_reconciled(
    newsroom: Newsroom, provider: SandboxServer, goes_to: str
) -> None:
    first = newsroom.publish(1)
    newsroom.deliver_all()
    correction = schedule(newsroom, issue=first.issue_id, version=2, goes_to=goes_to)
    make_edition_due(correction)
    Edition.objects.filter(pk=first.pk).update(control="cancelled")
    Edition.objects.update(unreconciled_since=Now())
    walked_first, walked_correction = load_editions(first.issue_id, retention_days=45)

    assert not end_reconciliation(walked_correction)
    assert not start_due()

    assert end_reconciliation(walked_first)
    assert end_reconciliation(walked_correction)
    assert start_due()


def test_schedule_older_than_postmarks_retention_stays_unreconciled(
    newsroom: Newsroom, provider: SandboxServer, settings: Any
) -> None:
    newsroom.confirm(1)
    edition = schedule(newsroom)
    database_identity.check_identity()
    database_identity.declare_restored()
    Edition.objects.update(
        control_at=F("control_at") - timedelta(days=settings.POSTMARK_RETENTION_DAYS),
        unreconciled_since=F("unreconciled_since") - timedelta(hours=1),
    )

    # Postmark no longer lists mails of that time, so nothing proves that no copy was sent.
    with pytest.raises(SystemExit):
        call_command("reconcile", stdout=io.StringIO(), stderr=io.StringIO())

    make_edition_due(edition)
    assert not start_due()


def test_questions_and_desk_show_the_current_reader_count(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    first = newsroom.publish(2)
    newsroom.deliver_all()
    newsroom.confirm(3, start=2)
    correction = schedule(newsroom, issue=first.issue_id, version=2, goes_to="reached")
    other = schedule(newsroom, title="Martins")

    for edition, readers in ((correction, "2 readers"), (other, "5 readers")):
        found = status(edition)
        for action in applicable(found):
            assert readers in button(action.name, found, readers_now(found))
            assert readers in question(action.name, found, readers_now(found))
    progress_page(newsroom, correction)  # this call gives the author permission to see the desk
    asks = WindowOf(newsroom.author).get(address(other, "call-back/")).words
    assert "5 readers" in asks
    assert not re.search(r"Sent \d", asks)
    desk = WindowOf(newsroom.author).get("/admin/newsletters/issues/").words
    assert "2 today, to everyone confirmed by then who was sent" in desk
    assert "5 today, to everyone confirmed by then" in desk


def test_questions_about_a_scheduled_page_count_no_readers(newsroom: Newsroom) -> None:
    edition = schedule(newsroom, goes_to="nobody")
    found = status(edition)
    for action in applicable(found):
        asks = f"{button(action.name, found, 0)}? {question(action.name, found, 0)}"
        assert "The page of the issue" in asks
        assert "0" not in asks.replace(found.counts.scheduled.words, "")
    (done,) = perform("send-now", edition, found)
    assert done.sentence == "The page of the issue appears now. No mail is sent."
