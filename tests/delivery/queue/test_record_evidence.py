"""Every acceptance is recorded and counted, and a second copy stops the edition."""

import itertools
import logging
import uuid
from datetime import UTC, datetime

import pytest
from django.db import connection, transaction

from delivery.models import Alarm, Attempt, Batch, Delivery, Edition, Evidence
from delivery.monitoring.alarms import raise_alarm
from delivery.queue import edition_control
from delivery.queue.claim_due_batch import claim, claim_lookup
from delivery.queue.record_evidence import (
    record_acceptances,
    settle_by_evidence,
    unapplied_evidence,
)
from delivery.queue.settle_batch import settle_call, settle_lookup
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.outcomes import (
    AllSent,
    Failed,
    Next,
    Outcome,
    Sent,
    Settlement,
    Suppressed,
    Unknown,
    Waiting,
)
from delivery.rules.reason import Reason, ReasonCode
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.delivery.worker_steps import asked, begun
from tests.publishing.second_connection import PATIENCE_S, beside

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def seen(
    edition: Edition,
    *acceptances: tuple[int, str],
    attempt: uuid.UUID | None = None,
    at: datetime | None = NOON,
) -> int:
    """Record acceptances, settle their copies, and return the number of new ones."""
    facts = [(recipient, Sent(message_id, at)) for recipient, message_id in acceptances]
    with short_transaction() as cursor:
        lock_edition(cursor, edition.pk)
        new = record_acceptances(cursor, edition.pk, attempt, facts, Evidence.Source.WEBHOOK)
        settle_by_evidence(cursor, edition.pk, [recipient for recipient, _ in facts])
    return new


def call_of_two_with_one_in_doubt(newsroom: Newsroom) -> tuple[Edition, int, int]:
    """Publish an edition with one unknown copy and one waiting copy."""
    edition = newsroom.publish(readers=2)
    claimed, attempt, (one, two) = begun()
    mixed = Settlement(outcomes={one: Unknown()}, next=Next.LOOK_UP, lookup_after_s=60)
    assert settle_call(claimed, attempt, mixed, Attempt.Result.ANSWERED)
    return edition, one, two


def sent_to_one(newsroom: Newsroom) -> tuple[Edition, int]:
    edition = newsroom.publish(readers=1)
    newsroom.deliver_all()
    (recipient,) = newsroom.recipients(edition)
    return edition, recipient


def stopped(edition: Edition) -> None:
    with short_transaction() as cursor:
        lock_edition(cursor, edition.pk)
        edition_control.stop(cursor, edition.pk, because("A fault."))


def in_doubt(newsroom: Newsroom, readers: int) -> Edition:
    edition = newsroom.publish(readers=readers)
    claimed, attempt, recipients = begun()
    asks = Settlement(
        outcomes=dict.fromkeys(recipients, Unknown()), next=Next.LOOK_UP, lookup_after_s=60
    )
    assert settle_call(claimed, attempt, asks, Attempt.Result.UNKNOWN)
    return edition


def control_of(edition: Edition) -> str:
    return str(Edition.objects.values_list("control", flat=True).get(pk=edition.pk))


def alarms_about() -> set[str]:
    alarms = list(Alarm.objects.values_list("about", flat=True))
    assert len(set(alarms)) == len(alarms)
    return set(alarms)


def test_first_acceptance_needs_no_evidence_row(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.deliver_all()
    first = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient")[0]
    assert first.provider_message_id
    assert seen(edition, (first.recipient_id, first.provider_message_id)) == 0
    assert not Evidence.objects.exists()
    assert not Alarm.objects.exists()


def test_id_of_another_delivery_is_logged_and_skipped(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    edition = in_doubt(newsroom, readers=3)
    one, two, three = newsroom.recipients(edition)
    seen(edition, (one, "m-1"))
    with caplog.at_level(logging.CRITICAL):
        assert seen(edition, (two, "m-1"), (three, "m-3")) == 1
    assert "should be unique" in caplog.text
    assert newsroom.outcomes(edition) == ["sent", "unknown", "sent"]
    assert not Alarm.objects.exists()


def test_an_acceptance_for_a_reader_without_a_copy_changes_nothing(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    edition = in_doubt(newsroom, readers=1)
    assert seen(edition, (10**17, "m-1")) == 0
    assert "has no copy of edition" in caplog.text
    assert not Evidence.objects.exists()


def test_evidence_settles_before_the_scheduled_look_up(newsroom: Newsroom) -> None:
    edition = in_doubt(newsroom, readers=3)
    (attempt,) = newsroom.attempts(edition)
    one, two, three = newsroom.recipients(edition)

    for new in (2, 0):
        assert seen(edition, (one, "m-1"), (two, "m-2"), attempt=attempt.pk) == new
    kept = Evidence.objects.get(provider_message_id="m-1")
    assert (kept.source, kept.attempt, kept.accepted_at) == ("webhook", attempt.pk, NOON)
    sent = newsroom.copies(edition)[0]
    assert (sent.provider_message_id, sent.sent_at, sent.evidence) == ("m-1", NOON, "webhook")
    assert newsroom.outcomes(edition) == ["sent", "sent", "unknown"]
    assert newsroom.batch(edition).state == "unknown"
    assert newsroom.counts(edition).unknown == 1

    seen(edition, (three, "m-3"), attempt=attempt.pk)
    batch = newsroom.batch(edition)
    assert (batch.state, batch.attempt, batch.unknown_since, batch.reason) == (
        "done",
        None,
        None,
        None,
    )
    assert newsroom.state(edition) == "succeeded"
    (attempt,) = newsroom.attempts(edition)
    assert attempt.accepted == 3


def test_acceptance_without_time_gets_the_current_time(newsroom: Newsroom) -> None:
    edition = in_doubt(newsroom, readers=1)
    (recipient,) = newsroom.recipients(edition)
    seen(edition, (recipient, "m-1"), at=None)
    assert newsroom.copies(edition)[0].sent_at == Evidence.objects.get().seen_at


@pytest.mark.parametrize(
    ("decision", "outcome", "state"),
    [("", "waiting", "ready"), ("stop", "waiting", "paused"), ("cancel", "withdrawn", "done")],
)
def test_waiting_copies_follow_the_edition_after_a_look_up(
    newsroom: Newsroom, decision: str, outcome: str, state: str
) -> None:
    edition, one, two = call_of_two_with_one_in_doubt(newsroom)
    if decision == "stop":
        stopped(edition)
    elif decision == "cancel":
        edition_control.cancel(edition.pk)
    seen(edition, (one, "m-1"))
    assert newsroom.outcomes(edition) == ["sent", outcome]
    batch = newsroom.batch(edition)
    assert (batch.state, batch.attempt, batch.sent) == (state, None, 1)
    if state == "ready":
        assert list(begun()[2]) == [two]


def test_accepted_waiting_copy_is_not_resent(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    one, _ = newsroom.recipients(edition)
    seen(edition, (one, "m-1"))
    assert newsroom.outcomes(edition) == ["sent", "waiting"]
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "sent"]
    assert newsroom.sandbox.summary()["accepted"] == 1


@pytest.mark.parametrize(
    ("fate", "outcome"),
    [
        (Failed(because("All tries are used up."), refused=False), "failed"),
        (Suppressed(because("On the list.")), "suppressed"),
    ],
)
def test_failed_copy_with_late_acceptance_counts_as_sent(
    newsroom: Newsroom, fate: Failed | Suppressed, outcome: str
) -> None:
    edition = newsroom.publish(readers=1)
    claimed, attempt, (recipient,) = begun()
    given_up = Settlement(outcomes={recipient: fate}, next=Next.DONE)
    assert settle_call(claimed, attempt, given_up, Attempt.Result.ANSWERED)
    assert newsroom.outcomes(edition) == [outcome]
    seen(edition, (recipient, "m-1"))
    counts = newsroom.counts(edition)
    assert (counts.sent, counts.failed, counts.suppressed, counts.missed) == (1, 0, 0, 0)
    (row,) = newsroom.copies(edition)
    assert (row.reason, row.missed) == (None, None)


@pytest.mark.parametrize("state", ["claimed", "sending", "looking_up"])
def test_leased_batch_is_left_to_its_worker(newsroom: Newsroom, state: str) -> None:
    if state == "looking_up":
        edition = in_doubt(newsroom, readers=1)
        newsroom.let_time_pass(61)
        assert claim_lookup(uuid.uuid4(), lease_s=30) is not None
    else:
        edition = newsroom.publish(readers=1)
        if state == "sending":
            begun()
        else:
            assert claim(uuid.uuid4(), lease_s=30) is not None
    before = Batch.objects.values().get(edition=edition)
    (recipient,) = newsroom.recipients(edition)

    assert seen(edition, (recipient, "m-1")) == 1

    assert Batch.objects.values().get(edition=edition) == before
    assert newsroom.outcomes(edition) in (["waiting"], ["unknown"])
    with connection.cursor() as cursor:
        assert unapplied_evidence(cursor, before["id"]) == [recipient]


@pytest.mark.parametrize(
    ("fate", "then"),
    [
        (Waiting(), Next.TRY_AGAIN),
        (Failed(because("All tries are used up."), refused=False), Next.TRY_AGAIN),
        (Suppressed(because("On the list.")), Next.TRY_AGAIN),
        (Unknown(), Next.LOOK_UP),
    ],
)
def test_evidence_counts_more_than_the_answer(
    newsroom: Newsroom, fate: Outcome, then: Next
) -> None:
    edition = newsroom.publish(readers=2)
    claimed, attempt, (one, two) = begun()
    seen(edition, (one, "m-of-an-earlier-attempt"))
    settlement = Settlement(outcomes={one: fate, two: Waiting()}, next=then)
    assert settle_call(claimed, attempt, settlement, Attempt.Result.ANSWERED)
    assert newsroom.outcomes(edition) == ["sent", "waiting"]
    batch = newsroom.batch(edition)
    assert (batch.state, batch.waiting, batch.sent) == ("ready", 1, 1)


@pytest.mark.parametrize("last", [True, False])
def test_evidence_counts_more_than_an_empty_look_up(newsroom: Newsroom, last: bool) -> None:
    edition = in_doubt(newsroom, readers=1)
    newsroom.let_time_pass(61)
    claimed = asked()
    (recipient,) = newsroom.recipients(edition)
    seen(edition, (recipient, "m-1"))
    absent = (
        Settlement(outcomes={recipient: Waiting()}, next=Next.TRY_AGAIN, confirmed_absent=True)
        if last
        else Settlement(outcomes={}, next=Next.LOOK_UP, lookup_after_s=300, confirmed_absent=True)
    )

    assert settle_lookup(claimed, absent)

    assert newsroom.outcomes(edition) == ["sent"]
    assert newsroom.batch(edition).state == "done"


def test_lease_reaper_applies_evidence_of_a_crashed_worker(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    _, attempt, (one, _) = begun()
    seen(edition, (one, "m-1"), attempt=attempt)
    newsroom.let_time_pass(11)
    assert newsroom.recover_expired_leases() == 1
    assert newsroom.outcomes(edition) == ["sent", "unknown"]
    assert newsroom.counts(edition).unknown == 1
    assert Attempt.objects.get(pk=attempt).accepted == 1


def test_late_answer_settles_unknown_copies_at_once(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    claimed, attempt, (one, two) = begun()
    newsroom.let_time_pass(11)
    newsroom.recover_expired_leases()
    assert newsroom.outcomes(edition) == ["unknown", "unknown"]
    answered = Settlement(outcomes={one: Sent("m-1", NOON), two: Sent("m-2", NOON)}, next=Next.DONE)

    assert not settle_call(claimed, attempt, answered, Attempt.Result.ANSWERED)

    assert newsroom.outcomes(edition) == ["sent", "sent"]
    assert set(Delivery.objects.values_list("evidence", flat=True)) == {"reply"}
    assert newsroom.state(edition) == "succeeded"
    assert Attempt.objects.get(pk=attempt).accepted == 2


def test_ordinary_settling_takes_no_edition_lock(newsroom: Newsroom) -> None:
    # An early webhook about the same message must not wait for the edition's row, which another
    # session locks here.
    edition = newsroom.publish(readers=1)
    claimed, attempt, (recipient,) = begun()
    seen(edition, (recipient, "m-1"))
    answered = Settlement(outcomes=AllSent([recipient], ["m-1"], [NOON]), next=Next.DONE)
    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        assert beside(
            lambda: settle_call(claimed, attempt, answered, Attempt.Result.ANSWERED)
        ).result(PATIENCE_S)
    assert not Alarm.objects.exists()


def test_probe_settled_by_evidence_passes_the_probe_on(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2, batch_size=1)
    stopped(edition)
    edition_control.resume(edition.pk)
    one, _ = newsroom.recipients(edition)
    assert [batch.state for batch in newsroom.batches(edition)] == ["ready", "paused"]
    seen(edition, (one, "m-1"))
    assert [batch.state for batch in newsroom.batches(edition)] == ["done", "ready"]


def test_a_second_copy_raises_an_alarm_and_stops_the_edition(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    edition, recipient = sent_to_one(newsroom)

    with caplog.at_level(logging.CRITICAL):
        assert seen(edition, (recipient, "m-2")) == 1

    alarm = Alarm.objects.get()
    assert (alarm.kind, alarm.about, alarm.edition_id) == ("accepted_twice", "m-2", edition.pk)
    assert f"reader {recipient}" in reason_sentence(alarm.reason)
    assert str(alarm.reason) in caplog.text
    assert control_of(edition) == "stopped"
    assert Edition.objects.get(pk=edition.pk).control_reason == Reason.of(ReasonCode.ACCEPTED_TWICE)
    # The delivery keeps the id of the first copy.
    assert Delivery.objects.get(recipient=recipient).provider_message_id != "m-2"


def test_only_a_third_copy_stops_a_resumed_edition_again(newsroom: Newsroom) -> None:
    edition, recipient = sent_to_one(newsroom)
    seen(edition, (recipient, "m-2"))
    edition_control.resume(edition.pk)
    assert seen(edition, (recipient, "m-2")) == 0
    assert control_of(edition) == "running"
    assert alarms_about() == {"m-2"}
    seen(edition, (recipient, "m-3"))
    assert alarms_about() == {"m-2", "m-3"}
    assert control_of(edition) == "stopped"


def test_second_copy_after_the_end_only_raises_an_alarm(newsroom: Newsroom) -> None:
    edition, recipient = sent_to_one(newsroom)
    Edition.objects.filter(pk=edition.pk).update(control="closed")
    seen(edition, (recipient, "m-2"))
    assert alarms_about() == {"m-2"}
    assert control_of(edition) == "closed"


def test_reply_with_another_id_is_a_second_copy(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    claimed, attempt, (one, two) = begun()
    seen(edition, (one, "m-of-another-attempt"), (two, "m-2"))
    assert not Alarm.objects.exists()
    accepted = AllSent([one, two], ["m-1", "m-2"], [NOON, NOON])
    answered = Settlement(outcomes=accepted, next=Next.DONE)
    assert settle_call(claimed, attempt, answered, Attempt.Result.ANSWERED)
    assert newsroom.outcomes(edition) == ["sent", "sent"]
    assert alarms_about() == {"m-of-another-attempt"}
    assert control_of(edition) == "stopped"


@pytest.mark.parametrize("order", list(itertools.permutations(["m-1", "m-2", "m-3"])))
def test_three_acceptances_raise_two_alarms(newsroom: Newsroom, order: tuple[str, ...]) -> None:
    edition = in_doubt(newsroom, readers=1)
    (recipient,) = newsroom.recipients(edition)
    for message_id in (*order, *order):
        seen(edition, (recipient, message_id))
    assert newsroom.outcomes(edition) == ["sent"]
    own = Delivery.objects.get(recipient=recipient).provider_message_id
    assert alarms_about() == {"m-1", "m-2", "m-3"} - {own}


def test_repeated_second_acceptance_raises_one_alarm(newsroom: Newsroom) -> None:
    edition = in_doubt(newsroom, readers=1)
    newsroom.let_time_pass(61)
    claimed = asked()
    (recipient,) = newsroom.recipients(edition)
    seen(edition, (recipient, "m-1"))
    seen(edition, (recipient, "m-2"))
    assert alarms_about() == {"m-2"}
    edition_control.resume(edition.pk)

    found = Settlement(outcomes={recipient: Sent("m-2", NOON)}, next=Next.DONE)
    assert settle_lookup(claimed, found)

    assert Delivery.objects.get(recipient=recipient).provider_message_id == "m-2"
    assert alarms_about() == {"m-2"}
    assert control_of(edition) == "running"


def test_concurrent_acceptances_see_each_other(newsroom: Newsroom) -> None:
    # The settling worker locks the batch but not the edition. Evidence that arrives while
    # the worker settles has to wait for the batch.
    edition = newsroom.publish(readers=1)
    claimed, _, (recipient,) = begun()

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE batch SET state = 'done', owner = NULL, lease_until = NULL, attempt = NULL,
                   waiting = 0, sent = 1 WHERE id = %s
            """,
            [claimed.batch],
        )
        webhook = beside(lambda: seen(edition, (recipient, "m-of-another-attempt")))
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
        cursor.execute(
            """
            UPDATE delivery SET outcome = 'sent', provider_message_id = 'm-1',
                   sent_at = clock_timestamp(), evidence = 'reply' WHERE recipient_id = %s
            """,
            [recipient],
        )
    webhook.result(PATIENCE_S)

    assert alarms_about() == {"m-of-another-attempt"}


def test_settlement_sees_evidence_that_it_waited_for(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    claimed, attempt, (recipient,) = begun()
    answered = Settlement(outcomes=AllSent([recipient], ["m-1"], [NOON]), next=Next.DONE)
    other = [(recipient, Sent("m-of-another-attempt", NOON))]

    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        record_acceptances(cursor, edition.pk, None, other, Evidence.Source.WEBHOOK)
        worker = beside(lambda: settle_call(claimed, attempt, answered, Attempt.Result.ANSWERED))
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
    assert worker.result(PATIENCE_S)

    assert alarms_about() == {"m-of-another-attempt"}


def test_alarm_is_raised_once_per_subject(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    edition = newsroom.publish(readers=1)
    kind = Alarm.Kind.NOT_AT_PROVIDER
    with caplog.at_level(logging.CRITICAL), transaction.atomic(), connection.cursor() as cursor:
        raised = [
            raise_alarm(cursor, edition.pk, kind, about, because("Something is missing."))
            for about in ("one", "one", "two")
        ]
    assert raised == [True, False, True]
    assert caplog.text.count("Something is missing.") == 2
    assert Alarm.objects.count() == 2


def test_two_copies_that_a_look_up_finds_are_an_alarm(newsroom: Newsroom) -> None:
    edition = in_doubt(newsroom, readers=1)
    newsroom.let_time_pass(61)
    unconfirmed = asked()
    (reader,) = newsroom.recipients(edition)
    found = Settlement(
        outcomes={reader: Sent("m-1", NOON)},
        next=Next.DONE,
        duplicates={reader: [Sent("m-2", NOON)]},
    )
    assert settle_lookup(unconfirmed, found)
    assert alarms_about() == {"m-2"}
    assert control_of(edition) == "stopped"


@pytest.mark.parametrize("borne", ["m-1", "m-2"])
def test_the_message_id_on_the_delivery_is_kept(newsroom: Newsroom, borne: str) -> None:
    edition = newsroom.publish(readers=1)
    (reader,) = newsroom.recipients(edition)
    Delivery.objects.update(provider_message_id=borne)
    seen(edition, (reader, "m-1"), (reader, "m-2"))
    (copy,) = newsroom.copies(edition)
    assert (copy.outcome, copy.provider_message_id) == ("sent", borne)
