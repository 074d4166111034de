"""Every acceptance ever seen is kept, the books follow it, and a second copy stops the edition."""

from __future__ import annotations

import itertools
import logging
import uuid
from datetime import UTC, datetime

import pytest
from django.db import connection, transaction

from delivery.models import Alarm, Attempt, Batch, Delivery, Edition, Evidence
from delivery.queue import control
from delivery.queue.alarms import raise_alarm
from delivery.queue.claim import claim, claim_look_up
from delivery.queue.evidence import record_acceptances, settle_by_evidence, unheeded_in
from delivery.queue.settle import settle_call, settle_look_up
from delivery.queue.short_transaction import short_transaction
from delivery.queue.split import lock_edition
from delivery.settlement import Failed, Next, Sent, Settlement, Suppressed, Unknown, Waiting
from postmark_sandbox.server import SandboxServer
from tests.delivery.beside import Beside
from tests.delivery.hands_on_an_edition import asked, begun
from tests.delivery.newsroom import Newsroom

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def recipients_of(edition: Edition) -> list[int]:
    return list(
        Delivery.objects.filter(issue=edition.issue_id, version=edition.version)
        .order_by("recipient")
        .values_list("recipient", flat=True)
    )


def seen(
    edition: Edition,
    *acceptances: tuple[int, str],
    attempt: uuid.UUID | None = None,
    source: Evidence.Source = Evidence.Source.WEBHOOK,
) -> int:
    """Record acceptances and settle by them, as every source does; how many were new."""
    facts = [(recipient, Sent(message_id, NOON)) for recipient, message_id in acceptances]
    with short_transaction() as cursor:
        lock_edition(cursor, edition.pk)
        new = record_acceptances(cursor, edition.pk, attempt, facts, source)
        settle_by_evidence(cursor, edition.pk, [recipient for recipient, _ in facts])
    return new


def call_of_two_with_one_in_doubt(newsroom: Newsroom) -> tuple[Edition, int, int]:
    """An edition, the reader in doubt, and the one who waits beside it."""
    edition = newsroom.publish(readers=2)
    claimed, attempt, (one, two) = begun()
    mixed = Settlement(fates={one: Unknown()}, next=Next.ASK, lookup_after_s=60)
    assert settle_call(claimed, attempt, mixed, Attempt.Result.ANSWERED)
    return edition, one, two


def sent_to_one(newsroom: Newsroom) -> tuple[Edition, int]:
    edition = newsroom.publish(readers=1)
    newsroom.deliver_all()
    (recipient,) = recipients_of(edition)
    return edition, recipient


def stopped(edition: Edition) -> None:
    with short_transaction() as cursor:
        lock_edition(cursor, edition.pk)
        control.stop(cursor, edition.pk, "A fault.")


def in_doubt(newsroom: Newsroom, readers: int) -> Edition:
    edition = newsroom.publish(readers=readers)
    claimed, attempt, recipients = begun()
    asks = Settlement(fates=dict.fromkeys(recipients, Unknown()), next=Next.ASK, lookup_after_s=60)
    assert settle_call(claimed, attempt, asks, Attempt.Result.UNKNOWN)
    return edition


def control_of(edition: Edition) -> str:
    return str(Edition.objects.values_list("control", flat=True).get(pk=edition.pk))


# --- What is kept ---------------------------------------------------------------------------------


def test_the_acceptance_that_stands_on_its_delivery_needs_no_row(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.deliver_all()
    first = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient")[0]
    assert first.provider_message_id
    assert seen(edition, (first.recipient_id, first.provider_message_id)) == 0
    assert not Evidence.objects.exists()
    assert not Alarm.objects.exists()


def test_an_acceptance_of_what_is_not_settled_is_kept_with_what_is_known_about_it(
    newsroom: Newsroom,
) -> None:
    edition = in_doubt(newsroom, readers=1)
    (recipient,) = recipients_of(edition)
    (attempt,) = newsroom.attempts(edition)
    for new in (1, 0):
        assert seen(edition, (recipient, "m-1"), attempt=attempt.pk) == new
    row = Evidence.objects.get()
    assert (row.provider_message_id, row.source) == ("m-1", "webhook")
    assert (row.attempt, row.accepted_at) == (attempt.pk, NOON)
    sent = Delivery.objects.get(recipient=recipient)
    assert (sent.provider_message_id, sent.sent_at, sent.evidence) == ("m-1", NOON, "webhook")


def test_an_id_that_is_evidence_of_another_delivery_is_said_and_stops_nothing_else(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    edition = in_doubt(newsroom, readers=3)
    one, two, three = recipients_of(edition)
    seen(edition, (one, "m-1"))
    with caplog.at_level(logging.CRITICAL):
        assert seen(edition, (two, "m-1"), (three, "m-3")) == 1
    assert "cannot be" in caplog.text
    assert newsroom.outcomes(edition) == ["sent", "unknown", "sent"]
    assert not Alarm.objects.exists()


def test_an_acceptance_for_a_reader_without_a_copy_changes_nothing(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    edition = in_doubt(newsroom, readers=1)
    assert seen(edition, (10**17, "m-1")) == 0
    assert "has no copy of edition" in caplog.text
    assert not Evidence.objects.exists()


# --- The books follow -----------------------------------------------------------------------------


def test_doubt_ends_with_the_evidence_and_not_with_the_schedule(newsroom: Newsroom) -> None:
    edition = in_doubt(newsroom, readers=3)
    (attempt,) = newsroom.attempts(edition)
    one, two, three = recipients_of(edition)

    seen(edition, (one, "m-1"), (two, "m-2"), attempt=attempt.pk)
    assert newsroom.outcomes(edition) == ["sent", "sent", "unknown"]
    assert newsroom.batch(edition).state == "unknown"
    assert newsroom.books(edition).unknown == 1

    seen(edition, (three, "m-3"), attempt=attempt.pk)
    batch = newsroom.batch(edition)
    assert (batch.state, batch.attempt, batch.doubt_since, batch.reason) == ("done", None, None, "")
    assert newsroom.state(edition) == "succeeded"
    (attempt,) = newsroom.attempts(edition)
    assert attempt.accepted == 3


def test_without_a_time_from_the_provider_the_time_of_seeing_it_stands(newsroom: Newsroom) -> None:
    edition = in_doubt(newsroom, readers=1)
    (recipient,) = recipients_of(edition)
    with short_transaction() as cursor:
        lock_edition(cursor, edition.pk)
        fact = [(recipient, Sent("m-1", None))]
        record_acceptances(cursor, edition.pk, None, fact, Evidence.Source.WEBHOOK)
        settle_by_evidence(cursor, edition.pk, [recipient])
    assert Delivery.objects.get(recipient=recipient).sent_at == Evidence.objects.get().seen_at


def test_what_waits_beside_the_doubt_goes_on_once_the_doubt_is_over(newsroom: Newsroom) -> None:
    edition, one, two = call_of_two_with_one_in_doubt(newsroom)
    seen(edition, (one, "m-1"))
    batch = newsroom.batch(edition)
    assert (batch.state, batch.attempt, batch.waiting, batch.sent) == ("ready", None, 1, 1)
    assert list(begun()[2]) == [two]


def test_of_a_stopped_edition_what_waits_beside_the_doubt_waits_for_a_person(
    newsroom: Newsroom,
) -> None:
    edition, one, _ = call_of_two_with_one_in_doubt(newsroom)
    stopped(edition)
    seen(edition, (one, "m-1"))
    assert newsroom.batch(edition).state == "paused"


def test_a_copy_that_waits_and_was_accepted_is_not_sent_again(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=2)
    one, _ = recipients_of(edition)
    seen(edition, (one, "m-1"))
    assert newsroom.outcomes(edition) == ["sent", "waiting"]
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "sent"]
    assert provider.sandbox.summary()["accepted"] == 1


@pytest.mark.parametrize(
    ("fate", "outcome"),
    [
        (Failed("All tries are used up.", refused=False), "failed"),
        (Suppressed("On the list."), "suppressed"),
    ],
)
def test_what_was_given_up_and_turns_out_to_have_been_accepted_counts_as_sent(
    newsroom: Newsroom, fate: Failed | Suppressed, outcome: str
) -> None:
    edition = newsroom.publish(readers=1)
    claimed, attempt, (recipient,) = begun()
    given_up = Settlement(fates={recipient: fate}, next=Next.DONE)
    assert settle_call(claimed, attempt, given_up, Attempt.Result.ANSWERED)
    assert newsroom.outcomes(edition) == [outcome]
    seen(edition, (recipient, "m-1"))
    books = newsroom.books(edition)
    assert (books.sent, books.failed, books.suppressed, books.missed) == (1, 0, 0, 0)
    row = Delivery.objects.get(recipient=recipient)
    assert (row.reason, row.missed) == (None, None)


@pytest.mark.parametrize("state", ["claimed", "sending", "looking_up"])
def test_what_a_worker_holds_is_left_to_it(newsroom: Newsroom, state: str) -> None:
    if state == "looking_up":
        edition = in_doubt(newsroom, readers=1)
        newsroom.let_time_pass(61)
        assert claim_look_up(uuid.uuid4(), lease_s=30) is not None
    else:
        edition = newsroom.publish(readers=1)
        if state == "sending":
            begun()
        else:
            assert claim(uuid.uuid4(), lease_s=30) is not None
    before = Batch.objects.values().get(edition=edition)
    (recipient,) = recipients_of(edition)

    assert seen(edition, (recipient, "m-1")) == 1

    assert Batch.objects.values().get(edition=edition) == before
    assert newsroom.outcomes(edition) in (["waiting"], ["unknown"])
    with connection.cursor() as cursor:
        assert unheeded_in(cursor, before["id"]) == [recipient]


def test_what_came_during_a_call_that_ends_in_doubt_is_heeded_when_it_is_settled(
    newsroom: Newsroom,
) -> None:
    edition = newsroom.publish(readers=2)
    claimed, attempt, (one, two) = begun()
    seen(edition, (one, "m-1"), (two, "m-2"))
    asks = Settlement(fates={one: Unknown(), two: Unknown()}, next=Next.ASK, lookup_after_s=60)
    assert settle_call(claimed, attempt, asks, Attempt.Result.UNKNOWN)
    assert newsroom.outcomes(edition) == ["sent", "sent"]
    assert newsroom.batch(edition).state == "done"
    assert newsroom.state(edition) == "succeeded"


@pytest.mark.parametrize(
    "fate", [Waiting(), Failed("All tries are used up.", refused=False), Suppressed("On the list.")]
)
def test_what_came_during_a_call_counts_more_than_what_the_call_said(
    newsroom: Newsroom, fate: Waiting | Failed | Suppressed
) -> None:
    edition = newsroom.publish(readers=2)
    claimed, attempt, (one, two) = begun()
    seen(edition, (one, "m-of-an-earlier-attempt"))
    settlement = Settlement(fates={one: fate, two: Waiting()}, next=Next.TRY_AGAIN)
    assert settle_call(claimed, attempt, settlement, Attempt.Result.ANSWERED)
    assert newsroom.outcomes(edition) == ["sent", "waiting"]
    batch = newsroom.batch(edition)
    assert (batch.state, batch.waiting, batch.sent) == ("ready", 1, 1)


@pytest.mark.parametrize("last", [True, False])
def test_what_came_during_a_look_up_counts_more_than_its_silence(
    newsroom: Newsroom, last: bool
) -> None:
    edition = in_doubt(newsroom, readers=1)
    newsroom.let_time_pass(61)
    claimed = asked()
    (recipient,) = recipients_of(edition)
    seen(edition, (recipient, "m-1"))
    absent = (
        Settlement(fates={recipient: Waiting()}, next=Next.TRY_AGAIN, said_absent=True)
        if last
        else Settlement(fates={}, next=Next.ASK, lookup_after_s=300, said_absent=True)
    )

    assert settle_look_up(claimed, absent)

    assert newsroom.outcomes(edition) == ["sent"]
    assert newsroom.batch(edition).state == "done"


def test_what_came_while_a_worker_was_lost_is_heeded_by_the_sweep(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    _, attempt, (one, _) = begun()
    seen(edition, (one, "m-1"), attempt=attempt)
    newsroom.let_time_pass(11)
    assert newsroom.sweep() == 1
    assert newsroom.outcomes(edition) == ["sent", "unknown"]
    assert newsroom.books(edition).unknown == 1
    assert Attempt.objects.get(pk=attempt).accepted == 1


def test_an_answer_that_comes_after_its_claim_was_lost_ends_the_doubt_at_once(
    newsroom: Newsroom,
) -> None:
    edition = newsroom.publish(readers=2)
    claimed, attempt, (one, two) = begun()
    newsroom.let_time_pass(11)
    newsroom.sweep()
    assert newsroom.outcomes(edition) == ["unknown", "unknown"]
    answered = Settlement(fates={one: Sent("m-1", NOON), two: Sent("m-2", NOON)}, next=Next.DONE)

    assert not settle_call(claimed, attempt, answered, Attempt.Result.ANSWERED)

    assert newsroom.outcomes(edition) == ["sent", "sent"]
    assert set(Delivery.objects.values_list("evidence", flat=True)) == {"reply"}
    assert newsroom.state(edition) == "succeeded"
    assert Attempt.objects.get(pk=attempt).accepted == 2


def test_the_ordinary_end_of_a_call_heeds_nothing_and_asks_for_no_lock(newsroom: Newsroom) -> None:
    # A webhook that came early and names the same message is no reason to stand in line for the
    # edition, which somebody else holds here.
    edition = newsroom.publish(readers=1)
    claimed, attempt, (recipient,) = begun()
    seen(edition, (recipient, "m-1"))
    answered = Settlement(fates={recipient: Sent("m-1", NOON)}, next=Next.DONE)
    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        assert Beside(
            lambda: settle_call(claimed, attempt, answered, Attempt.Result.ANSWERED)
        ).end()
    assert not Alarm.objects.exists()


def test_of_a_cancelled_edition_what_waits_beside_the_doubt_never_goes(newsroom: Newsroom) -> None:
    edition, one, _ = call_of_two_with_one_in_doubt(newsroom)
    control.cancel(edition.pk)
    seen(edition, (one, "m-1"))
    assert newsroom.outcomes(edition) == ["sent", "withdrawn"]
    assert newsroom.batch(edition).state == "done"
    assert newsroom.state(edition) == "cancelled"


def test_the_first_batch_after_a_fault_that_ends_by_evidence_passes_its_turn_on(
    newsroom: Newsroom,
) -> None:
    edition = newsroom.publish(readers=2, batch_size=1)
    stopped(edition)
    control.resume(edition.pk)
    one, _ = recipients_of(edition)
    assert [batch.state for batch in newsroom.batches(edition)] == ["ready", "paused"]
    seen(edition, (one, "m-1"))
    assert [batch.state for batch in newsroom.batches(edition)] == ["done", "ready"]


# --- Second copies --------------------------------------------------------------------------------


def test_a_second_copy_raises_an_alarm_and_stops_the_edition(
    newsroom: Newsroom, provider: SandboxServer, caplog: pytest.LogCaptureFixture
) -> None:
    edition, recipient = sent_to_one(newsroom)

    with caplog.at_level(logging.CRITICAL):
        assert seen(edition, (recipient, "m-2")) == 1

    alarm = Alarm.objects.get()
    assert (alarm.kind, alarm.about, alarm.edition_id) == ("accepted_twice", "m-2", edition.pk)
    assert f"reader {recipient}" in alarm.sentence
    assert alarm.sentence in caplog.text
    assert control_of(edition) == "stopped"
    stopped = Edition.objects.get(pk=edition.pk)
    assert "a second copy" in stopped.control_reason
    # The first copy stands; the second is evidence of what went wrong.
    assert Delivery.objects.get(recipient=recipient).provider_message_id != "m-2"


def test_seeing_a_second_copy_again_stops_nothing_that_a_person_resumed(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition, recipient = sent_to_one(newsroom)
    seen(edition, (recipient, "m-2"))
    control.resume(edition.pk)
    assert seen(edition, (recipient, "m-2")) == 0
    assert control_of(edition) == "running"
    assert Alarm.objects.count() == 1


def test_a_third_copy_is_another_alarm(newsroom: Newsroom, provider: SandboxServer) -> None:
    edition, recipient = sent_to_one(newsroom)
    seen(edition, (recipient, "m-2"))
    control.resume(edition.pk)
    seen(edition, (recipient, "m-3"))
    assert set(Alarm.objects.values_list("about", flat=True)) == {"m-2", "m-3"}
    assert control_of(edition) == "stopped"


def test_a_second_copy_after_the_end_is_an_alarm_and_the_end_stays(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=1)
    newsroom.deliver_all()
    Edition.objects.filter(pk=edition.pk).update(control="closed")
    (recipient,) = recipients_of(edition)
    seen(edition, (recipient, "m-2"))
    assert Alarm.objects.count() == 1
    assert control_of(edition) == "closed"


def test_a_reply_that_names_another_id_than_the_early_webhook_is_a_second_copy(
    newsroom: Newsroom,
) -> None:
    edition = newsroom.publish(readers=2)
    claimed, attempt, (one, two) = begun()
    seen(edition, (one, "m-of-another-attempt"), (two, "m-2"))
    assert not Alarm.objects.exists()
    answered = Settlement(fates={one: Sent("m-1", NOON), two: Sent("m-2", NOON)}, next=Next.DONE)
    assert settle_call(claimed, attempt, answered, Attempt.Result.ANSWERED)
    assert newsroom.outcomes(edition) == ["sent", "sent"]
    assert [alarm.about for alarm in Alarm.objects.all()] == ["m-of-another-attempt"]
    assert control_of(edition) == "stopped"


@pytest.mark.parametrize("order", list(itertools.permutations(["m-1", "m-2", "m-3"])))
def test_whatever_the_order_of_three_acceptances_there_are_two_alarms(
    newsroom: Newsroom, order: tuple[str, ...]
) -> None:
    edition = in_doubt(newsroom, readers=1)
    (recipient,) = recipients_of(edition)
    for message_id in (*order, *order):
        seen(edition, (recipient, message_id))
    assert newsroom.outcomes(edition) == ["sent"]
    own = Delivery.objects.get(recipient=recipient).provider_message_id
    about = set(Alarm.objects.values_list("about", flat=True))
    assert about == {"m-1", "m-2", "m-3"} - {own}


def test_a_copy_with_an_alarm_that_comes_to_stand_on_its_delivery_raises_none_for_the_other(
    newsroom: Newsroom,
) -> None:
    edition = in_doubt(newsroom, readers=1)
    newsroom.let_time_pass(61)
    claimed = asked()
    (recipient,) = recipients_of(edition)
    seen(edition, (recipient, "m-1"))
    seen(edition, (recipient, "m-2"))
    assert [alarm.about for alarm in Alarm.objects.all()] == ["m-2"]
    control.resume(edition.pk)

    found = Settlement(fates={recipient: Sent("m-2", NOON)}, next=Next.DONE)
    assert settle_look_up(claimed, found)

    assert Delivery.objects.get(recipient=recipient).provider_message_id == "m-2"
    assert [alarm.about for alarm in Alarm.objects.all()] == ["m-2"]
    assert control_of(edition) == "running"


def test_two_acceptances_that_are_seen_at_the_same_time_do_not_miss_one_another(
    newsroom: Newsroom,
) -> None:
    # The settling worker holds the batch and not the edition. What comes meanwhile has to wait.
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
        webhook = Beside(lambda: seen(edition, (recipient, "m-of-another-attempt")))
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
        cursor.execute(
            """
            UPDATE delivery SET outcome = 'sent', provider_message_id = 'm-1',
                   sent_at = clock_timestamp(), evidence = 'reply' WHERE recipient_id = %s
            """,
            [recipient],
        )
    webhook.end()

    assert [alarm.about for alarm in Alarm.objects.all()] == ["m-of-another-attempt"]


# --- Alarms ---------------------------------------------------------------------------------------


def test_an_alarm_is_raised_once_for_what_it_is_about(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    edition = newsroom.publish(readers=1)
    kind = Alarm.Kind.NOT_AT_PROVIDER
    with caplog.at_level(logging.CRITICAL), transaction.atomic(), connection.cursor() as cursor:
        raised = [
            raise_alarm(cursor, edition.pk, kind, about, "Something is missing.")
            for about in ("one", "one", "two")
        ]
    assert raised == [True, False, True]
    assert caplog.text.count("Something is missing.") == 2
    assert Alarm.objects.count() == 2


def test_two_copies_that_a_look_up_finds_are_an_alarm(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    claimed, attempt, (reader,) = begun()
    lost = Settlement(fates={reader: Unknown()}, next=Next.ASK)
    assert settle_call(claimed, attempt, lost, Attempt.Result.UNKNOWN)
    doubtful = asked()

    found = Settlement(
        fates={reader: Sent("m-1", NOON)}, next=Next.DONE, duplicates={reader: [Sent("m-2", NOON)]}
    )
    assert settle_look_up(doubtful, found)

    assert [alarm.about for alarm in Alarm.objects.all()] == ["m-2"]
    edition.refresh_from_db()
    assert edition.control == "stopped"


@pytest.mark.parametrize("borne", ["m-1", "m-2"])
def test_of_two_proofs_the_id_that_the_delivery_bears_counts(
    newsroom: Newsroom, borne: str
) -> None:
    edition = newsroom.publish(readers=1)
    (reader,) = recipients_of(edition)
    Delivery.objects.update(provider_message_id=borne)
    seen(edition, (reader, "m-1"), (reader, "m-2"))
    assert Delivery.objects.get().provider_message_id == borne
    assert newsroom.outcomes(edition) == ["sent"]
