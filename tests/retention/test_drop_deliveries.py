"""Copies are dropped by edition; pages and receipts stay true."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db import IntegrityError, OperationalError, transaction
from django.db.models.functions import Now
from django.utils.translation import override

from delivery.feedback import event_inbox
from delivery.models import Alarm, Attempt, Batch, Delivery, Edition, Evidence, ProviderEvent
from delivery.queue.enqueue_edition import LOCK_ENQUEUE
from delivery.queue.enqueue_transactional import request_mail
from delivery.reconcile import database_identity
from delivery.reports.audit import find_violations
from delivery.reports.load_edition_counts import load_counts
from delivery.retention import drop_deliveries
from delivery.rules.delivery_key import DeliveryKey
from newsletter_site.data_retention import count_prunable, prune
from newsletter_site.logs.log_format import LineFormatter
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.content.edition_content import Content
from publishing.editions.audience import EVERYONE, REACHED
from publishing.editions.edition_status import dropped_sentence
from publishing.editions.versions import VersionRefusedError, plan_version
from publishing.progress.reader_outcomes import ALL, DeliveriesDroppedError, outcome_page
from publishing.receipts.drop_old_deliveries import (
    CannotDropError,
    drop_all_old_deliveries,
    drop_deliveries_of,
)
from publishing.receipts.make_receipt import (
    receipt_as_json,
    receipt_of,
    receipt_today,
    recount_before_dropping,
)
from subscribers.data_requests.erase import erase
from subscribers.data_requests.personal_data import load_personal_data
from subscribers.models import Subscriber, Suppression
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.delivery.recorded_acceptance import put_on_record
from tests.publishing.author_browser import WindowOf
from tests.publishing.publish_with import publish
from tests.publishing.second_connection import PATIENCE_S, beside

pytestmark = pytest.mark.django_db(transaction=True)

MakeOlder = Callable[..., None]


def rows_of(edition: Edition) -> Any:
    return Delivery.objects.filter(issue=edition.issue_id, version=edition.version)


def drop(edition: Edition) -> int:
    return sum(drop_deliveries_of(edition))


def event_body(delivery: Delivery, kind: str, **more: Any) -> bytes:
    """Return the body of a webhook about a copy. `more` adds or replaces fields."""
    key = DeliveryKey(delivery.issue_id, delivery.version, delivery.recipient_id)
    body = {
        "RecordType": kind,
        "MessageID": delivery.provider_message_id,
        "Recipient": delivery.address,
        "Email": delivery.address,
        "MessageStream": "broadcast",
        "DeliveredAt": "2030-01-01T00:00:00Z",
        "BouncedAt": "2030-01-01T00:00:00Z",
        "Metadata": {"delivery": str(key), "attempt": "0" * 32},
    }
    return json.dumps(body | more).encode()


def report(delivery: Delivery, kind: str, **more: Any) -> None:
    """Store and apply an event about a copy."""
    event = event_inbox.store(event_body(delivery, kind, **more))
    assert event is not None
    assert event_inbox.apply(event)


@pytest.fixture
def half_dropped(old: Edition) -> Edition:
    """Mark the edition as dropped while all its copies still exist."""
    receipt_of(old)
    assert drop_deliveries.mark_dropped(old.pk, days=52).may_be_dropped
    return old


def drop_two(edition: Edition) -> None:
    """Delete two of the five copies, as an interrupted run does."""
    pieces = drop_deliveries.delete_deliveries(edition.pk, batch_size=2)
    assert next(pieces) == 2
    pieces.close()


def logged() -> list[str]:
    """Return the activity log's sentences about dropping."""
    sentences = [plain_sentence_of(entry) for entry in LogEntry.objects.order_by("pk")]
    return [sentence for sentence in sentences if "copies" in sentence]


def test_receipt_is_made_before_copies_are_dropped(old: Edition) -> None:
    before = load_counts(old.pk)

    assert drop(old) == 5

    assert json.loads(receipt_of(old).text)["message_ids"] == 5
    assert not rows_of(old).exists()
    after = load_counts(old.pk)
    assert after.deliveries_dropped_at is not None
    assert after.balanced
    names = ("audience", "sent", "suppressed", "withdrawn", "failed", "unknown", "waiting")
    assert [getattr(after, name) for name in names] == [getattr(before, name) for name in names]
    old.refresh_from_db()
    assert old.html_mail
    # The copies of the other edition stay.
    assert Delivery.objects.count() == 5
    assert find_violations(list(Edition.objects.values_list("pk", flat=True))) == []


def miss_one(edition: Edition) -> None:
    """Mark one of the edition's copies as failed after all tries."""
    first = rows_of(edition).order_by("batch_id")[0]
    rows_of(edition).filter(recipient=first.recipient_id).update(
        outcome="failed", missed=True, reason="All tries used up."
    )
    Batch.objects.filter(pk=first.batch_id).update(sent=1, failed=1, missed=1)


def pruned() -> int:
    return next(each.number for each in prune(pause=float) if each.rule.name == "copies")


def command(*arguments: str) -> list[str]:
    out = StringIO()
    call_command("prune", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue().splitlines()


def test_some_states_and_dates_keep_copies(old: Edition, settings: Any) -> None:
    edition, batch = Edition.objects.filter(pk=old.pk), Batch.objects.filter(edition=old)
    as_it_was = edition.values().get()
    changes: list[dict[str, Any]] = [
        {"control": "paused"},
        {"control": "stopped", "control_reason": "A fault."},
        {"control": "closed", "unreconciled_since": "2020-01-01T00:00Z"},
        {"probing": True},
        {"held_until": "2100-01-01T00:00Z"},
    ]
    for change in changes:
        edition.update(**change)
        with pytest.raises(CannotDropError):
            drop_deliveries_of(old)
        edition.update(**as_it_was)
    first = batch.filter(pk=batch.order_by("pk")[0].pk)
    before = first.values("state", "unknown_since").get()
    for state in ("ready", "unknown", "parked"):
        first.update(state=state, unknown_since=Now())
        with pytest.raises(CannotDropError, match="It has not ended"):
            drop_deliveries_of(old)
        first.update(**before)
    settings.POSTMARK_RETENTION_DAYS = 365
    with pytest.raises(CannotDropError, match="Postmark can still be asked"):
        drop_deliveries_of(old)
    settings.POSTMARK_RETENTION_DAYS = 45

    edition.update(control="cancelled", control_at=Now())
    with pytest.raises(CannotDropError):
        drop_deliveries_of(old)
    assert rows_of(old).count() == 5
    edition.update(control_at=old.published_at)
    assert drop(old) == 5


def test_missed_copies_are_kept_until_the_edition_is_closed(old: Edition) -> None:
    miss_one(old)
    with pytest.raises(CannotDropError, match="It has not ended"):
        drop_deliveries_of(old)
    Edition.objects.filter(pk=old.pk).update(control="closed", control_at=old.published_at)
    assert drop(old) == 5
    assert find_violations([old.pk]) == []


def test_rows_are_counted_again_for_an_old_receipt(
    old: Edition, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DELIVERIES_KEEP_DAYS = 50
    receipt_of(old)
    rows_of(old).order_by("recipient")[:1].get().delete()

    with pytest.raises(CannotDropError, match="differ") as stays:
        drop_deliveries_of(old)
    # The log must be in English, even if the process uses another language.
    with caplog.at_level("WARNING", "publishing.receipts.drop_old_deliveries"), override("de"):
        prune(pause=lambda _: None)
    assert rows_of(old).count() == 4
    lines = LineFormatter(shape="lines", words=False, secrets=[])
    assert f"stay: {stays.value}" in "".join(map(lines.format, caplog.records))


def test_call_without_recorded_end_counts_by_its_deadline(old: Edition) -> None:
    attempt = Attempt.objects.filter(edition=old)[:1].get()
    Attempt.objects.filter(pk=attempt.pk).update(
        finished_at=None, result="unknown", started_at=Now(), deadline_at=Now()
    )
    with pytest.raises(CannotDropError, match="Postmark can still be asked"):
        drop_deliveries_of(old)


def test_database_refuses_deleting_copies_before_the_edition_is_marked(old: Edition) -> None:
    put_on_record(rows_of(old)[0], "m")
    assert sum(drop_deliveries.delete_deliveries(old.pk)) == 0
    assert rows_of(old).count() == 5
    assert Evidence.objects.exists()


@pytest.mark.parametrize(("failures", "by_key"), [(0, True), (event_inbox.MAX_FAILURES, False)])
def test_pending_events_keep_their_copies(
    old: Edition, failures: int, by_key: bool, settings: Any
) -> None:
    delivery = Delivery.objects.filter(issue=old.issue_id)[0]
    otherwise = {} if by_key else {"Metadata": {}, "Tag": f"issue-{old.issue_id.hex}"}
    event = event_inbox.store(event_body(delivery, "Delivery", **otherwise))
    ProviderEvent.objects.update(failures=failures)

    with pytest.raises(CannotDropError, match="could not be applied yet"):
        drop_deliveries_of(old)
    settings.DELIVERIES_KEEP_DAYS = 60
    assert sum(drop_all_old_deliveries()) == 0

    assert event is not None
    assert event_inbox.apply(event)
    # An event about another issue does not protect these copies.
    event_inbox.store(event_body(rows_of(Edition.objects.get(title="Lately"))[0], "Delivery"))
    assert sum(drop_all_old_deliveries()) == 5


def test_transactional_mail_is_never_dropped(newsroom: Newsroom) -> None:
    with transaction.atomic():
        request_mail("record", 1, [(1, "ada@example.net")], ahead=True)
    with pytest.raises(CannotDropError, match="transactional mail"):
        drop_deliveries_of(Edition.objects.get(kind="record"))


def test_called_back_issue_does_not_count_as_the_newest(
    newsroom: Newsroom, old: Edition, make_older: MakeOlder
) -> None:
    called_back = newsroom.publish(title="Called back", hold_s=1000)
    call_command("edition", "call-back", str(called_back.issue_id), stdout=StringIO())
    make_older(100, "edition", "attempt", "delivery")
    with pytest.raises(CannotDropError, match="newest issue"):
        drop_deliveries_of(Edition.objects.get(title="Lately"))


def test_the_newest_issue_keeps_all_its_versions(
    newsroom: Newsroom, old: Edition, make_older: MakeOlder
) -> None:
    first = Edition.objects.get(title="Lately")
    content = Content.from_input(title="Lately, put right", html="<p>Words</p>")
    publish(newsroom.author.pk, "a-key", content, hold_s=0, issue=first.issue_id, version=2)
    newsroom.deliver_all()
    make_older(100, "edition", "attempt", "delivery")
    with pytest.raises(CannotDropError, match="newest issue"):
        drop_deliveries_of(first)
    assert drop(old) == 5


def test_half_dropped_looks_dropped_and_the_next_run_continues(half_dropped: Edition) -> None:
    old = half_dropped
    drop_two(old)
    counts = load_counts(old.pk)
    assert counts.audience == counts.sent == 5
    assert find_violations([old.pk]) == []
    assert drop_deliveries.load_unfinished() == [old.pk]
    assert next(each.number for each in count_prunable() if each.rule.name == "copies") == 3
    assert pruned() == 3
    assert drop_deliveries.load_unfinished() == []
    assert find_violations([old.pk]) == []


def test_receipt_matches_while_another_run_deletes(half_dropped: Edition) -> None:
    drop_two(half_dropped)
    recount_before_dropping(half_dropped)
    assert drop_deliveries.mark_dropped(half_dropped.pk, days=52).dropped_at is not None


def test_locked_copy_is_dropped_later(old: Edition, onlooker: psycopg.Connection[Any]) -> None:
    with onlooker.transaction():
        onlooker.execute(
            "SELECT FROM delivery WHERE issue_id = %s LIMIT 1 FOR UPDATE", [old.issue_id]
        )
        assert drop(old) == 4
    assert drop(old) == 1


@pytest.fixture
def operator(newsroom: Newsroom) -> None:
    """Create the only superuser, to whom command-line actions are attributed."""
    newsroom.author.is_superuser = True
    newsroom.author.save()


def test_dropping_is_logged_once_over_several_runs(operator: None, old: Edition) -> None:
    pieces = drop_deliveries_of(old)
    deleted = f"{old.author.username} deleted the copies of Long ago."
    assert logged() == [f"{deleted} This was done on the command line."]
    next(pieces)
    assert drop(old) == 0
    assert len(logged()) == 1


def test_daily_dropping_logs_no_user_and_keeps_the_set_time(old: Edition, settings: Any) -> None:
    assert pruned() == 0
    settings.DELIVERIES_KEEP_DAYS = 101
    assert pruned() == 0
    # Copies stay until the provider's records have expired, even if DELIVERIES_KEEP_DAYS is less.
    settings.DELIVERIES_KEEP_DAYS, settings.POSTMARK_RETENTION_DAYS = 1, 100
    assert pruned() == 0
    settings.DELIVERIES_KEEP_DAYS, settings.POSTMARK_RETENTION_DAYS = 99, 45
    assert next(each.number for each in count_prunable() if each.rule.name == "copies") == 5
    assert pruned() == 5
    assert logged() == []


def test_the_command_drops_the_named_issue_and_prints_the_count(old: Edition) -> None:
    line, last = command("--copies-of", str(old.issue_id), "--dry-run")
    assert line.strip() == "5 would be deleted: copies of “Long ago”, version 1"
    assert json.loads(last) == {"copies": 5}
    assert rows_of(old).count() == 5
    line, last = command("--copies-of", str(old.issue_id), "--version", "1")
    assert line.strip() == "5 deleted: copies of “Long ago”, version 1"
    assert json.loads(last) == {"copies": 5}
    assert json.loads(command("--copies-of", str(old.issue_id))[-1]) == {"copies": 0}


def test_command_explains_why_it_refuses(db: None) -> None:
    for arguments, words in (
        (("--copies-of", "nothing"), "not the id of an issue"),
        (("--version", "1"), "--copies-of"),
        (("--copies-of", "00000000-0000-0000-0000-000000000001"), "There is no issue"),
    ):
        with pytest.raises(CommandError, match=words):
            command(*arguments)


def test_dropped_copies_block_corrections_only_to_reached_readers(
    newsroom: Newsroom, old: Edition
) -> None:
    drop(old)
    content = Content.from_input(title="Long ago, put right", html="<p>Words</p>")
    version_2: dict[str, Any] = {"hold_s": 0, "issue": old.issue_id, "version": 2}

    with pytest.raises(VersionRefusedError, match="The copies of version 1 were deleted on"):
        publish(newsroom.author.pk, "a-key", content, **version_2, goes_to=REACHED)
    place = plan_version(old.issue_id)
    assert place is not None
    assert place.unknown_reached
    assert place.is_correction

    made = publish(newsroom.author.pk, "b-key", content, **version_2)
    assert made.edition.audience == 5


def test_database_refuses_a_correction_from_other_code(old: Edition) -> None:
    drop(old)
    correction = Edition.objects.get(pk=old.pk)
    correction.pk = correction.deliveries_dropped_at = None
    correction.version = 2
    correction.goes_to, correction.idempotency_key = REACHED, "another"

    with pytest.raises(IntegrityError, match="who was sent version 1 is not kept any more"):
        correction.save(force_insert=True)
    correction.goes_to = EVERYONE
    correction.save(force_insert=True)


def test_nothing_is_dropped_while_a_correction_is_published(
    old: Edition, onlooker: psycopg.Connection[Any]
) -> None:
    with onlooker.transaction():
        onlooker.execute(LOCK_ENQUEUE)
        with pytest.raises(OperationalError):
            drop_deliveries_of(old)
    assert rows_of(old).count() == 5
    assert drop(old) == 5


def test_scheduled_correction_protects_the_copies(newsroom: Newsroom, old: Edition) -> None:
    at = "2100-01-01T00:00Z"
    later = {"scheduled_for": at, "scheduled_local": at[:-1], "scheduled_zone": "UTC"}
    later |= {"control": "scheduled", "published_at": at, "held_until": at}
    words = {"title": "Later", "text_mail": "Words", "content_hash": b"1"}
    Edition.objects.create(
        issue_id=old.issue_id, version=2, goes_to=REACHED, stream="broadcast", **later, **words
    )
    with pytest.raises(CannotDropError, match="A scheduled correction"):
        drop_deliveries_of(old)


def test_bounce_of_a_dropped_copy_is_applied_to_its_reader(old: Edition) -> None:
    delivery = rows_of(old)[0]
    drop(old)

    report(delivery, "Bounce", Type="HardBounce", ID=1, Inactive=True)
    report(delivery, "Delivery")
    report(delivery, "Delivery", MessageID="another-one")

    assert Subscriber.objects.get(pk=delivery.recipient_id).state == "bounced"
    assert not Alarm.objects.exists()
    assert find_violations([old.pk]) == []
    assert ProviderEvent.objects.filter(applied_at__isnull=False).count() == 3
    assert load_counts(old.pk).sent == 5


def test_bounce_with_another_address_changes_nothing(old: Edition) -> None:
    delivery, other = rows_of(old)[:2]
    drop(old)
    for address in (other.address, "nobody@example.net"):
        report(delivery, "Bounce", Type="HardBounce", ID=1, Inactive=True, Email=address)
    assert not Subscriber.objects.filter(state="bounced").exists()
    assert not Suppression.objects.exists()
    assert Alarm.objects.get().kind == "other_address"


def test_events_about_an_erased_reader_are_not_kept(old: Edition) -> None:
    delivery = rows_of(old)[0]
    drop(old)
    erase(delivery.recipient_id)
    report(delivery, "Delivery")
    assert not ProviderEvent.objects.exists()


def test_reconcile_skips_dropped_editions_with_a_message(old: Edition) -> None:
    drop(old)
    out, err = StringIO(), StringIO()
    call_command("reconcile", str(old.issue_id), stdout=out, stderr=err)
    assert json.loads(out.getvalue().splitlines()[-1])["editions"] == 0
    assert "Version 1 is skipped. The copies were deleted on" in err.getvalue()


def test_restored_backup_does_not_reopen_dropped_editions(old: Edition) -> None:
    miss_one(old)
    Edition.objects.filter(pk=old.pk).update(control="closed", control_at=old.published_at)
    drop(old)
    assert old.pk not in database_identity.declare_restored()
    assert find_violations([old.pk]) == []


def test_complaints_and_bounces_are_applied_without_a_pause(half_dropped: Edition) -> None:
    for delivery in rows_of(half_dropped):
        report(delivery, "SpamComplaint", Type="SpamComplaint", ID=1)
    half_dropped.refresh_from_db()
    assert half_dropped.control == "running"
    assert set(Subscriber.objects.values_list("state", flat=True)) == {"complained"}
    assert not any(Batch.objects.filter(edition=half_dropped).values_list("complained", flat=True))
    assert find_violations([half_dropped.pk]) == []


def test_bounce_waiting_during_a_drop_is_not_counted(
    newsroom: Newsroom, old: Edition, onlooker: psycopg.Connection[Any]
) -> None:
    delivery = rows_of(old)[0]
    bounce = {"Type": "HardBounce", "ID": 1, "Inactive": True}
    with onlooker.transaction():
        onlooker.execute("UPDATE edition SET deliveries_dropped_at = now() WHERE id = %s", [old.pk])
        applied = beside(lambda: report(delivery, "Bounce", **bounce))
        newsroom.wait_for_a_backend_that_waits_for_a_lock(doing="FOR NO KEY UPDATE")
    applied.result(PATIENCE_S)

    assert not any(Batch.objects.filter(edition=old).values_list("bounced", flat=True))
    assert Subscriber.objects.get(pk=delivery.recipient_id).state == "bounced"


def test_next_run_deletes_evidence_that_was_added_meanwhile(half_dropped: Edition) -> None:
    delivery = rows_of(half_dropped)[0]
    kept = rows_of(Edition.objects.get(title="Lately"))[0]
    put_on_record(kept, "another-issue")
    alarm = {"kind": "accepted_twice", "about": "m", "reason": because("Twice.")}
    Alarm.objects.create(edition=half_dropped, **alarm)
    assert sum(drop_deliveries.delete_deliveries(half_dropped.pk)) == 5
    put_on_record(delivery, "m")
    assert drop_deliveries.load_unfinished() == [half_dropped.pk]
    assert sum(drop_deliveries.delete_deliveries(half_dropped.pk)) == 0
    assert drop_deliveries.load_unfinished() == []
    assert list(Evidence.objects.values_list("issue_id", flat=True)) == [kept.issue_id]
    assert Alarm.objects.exists()


def test_another_acceptance_leaves_no_evidence_or_alarm(half_dropped: Edition) -> None:
    report(rows_of(half_dropped)[0], "Delivery", MessageID="another-one")
    assert not Alarm.objects.exists()
    assert not Evidence.objects.exists()


def test_sentence_replaces_the_list_of_readers(old: Edition, window: WindowOf) -> None:
    page = f"/admin/newsletters/{old.issue_id}/"
    assert "with proof for each copy" in window.get(page).words
    assert "recounts every row" in window.get(f"{page}receipt/").words

    drop(old)

    old.refresh_from_db()
    sentence = dropped_sentence(old.deliveries_dropped_at)
    assert sentence.startswith("The copies were deleted on")
    for address in (page, f"{page}?outcome=sent", f"{page}?q=reader1"):
        words = window.get(address).words
        assert sentence in words
        assert "Postmark accepted 5 copies" in words
        for no_longer in ("No copy is", "reader0@example.net", "with proof for each copy"):
            assert no_longer not in words
    words = window.get(f"{page}receipt/").words
    assert "recounts every row" not in words
    assert (
        "The counts and the receipt are kept. You can still check the signature of a receipt"
        in words
    )
    answer = window.get(f"{page}readers.csv").answer
    assert answer.status_code == 410
    assert answer.content.decode().startswith("The copies were deleted on")


def test_personal_data_counts_dropped_mails(old: Edition, make_older: MakeOlder) -> None:
    make_older(200, "subscriber")
    drop(old)
    record = load_personal_data(Subscriber.objects.order_by("pk")[0].pk)
    assert record is not None
    assert [mail["title"] for mail in record.mails] == ["Lately"]
    assert record.mails_not_known == 1


def test_reading_a_list_during_a_drop_aborts(old: Edition) -> None:
    _readers, after = outcome_page(old.pk, ALL, "", limit=2)
    drop(old)
    with pytest.raises(DeliveriesDroppedError, match="The copies were deleted on"):
        outcome_page(old.pk, ALL, after, limit=2)


def test_receipt_is_genuine_but_cannot_be_recounted(old: Edition, window: WindowOf) -> None:
    # The object `old` was loaded before the drop, so the code must query whether the copies were
    # dropped.
    drop(old)
    assert receipt_today(old) is None
    kept = receipt_as_json(receipt_of(old))
    words = window.post("/admin/newsletters/receipts/", receipt=kept).words
    assert "Genuine." in words
    assert "cannot be checked any more. The copies were deleted on" in words
