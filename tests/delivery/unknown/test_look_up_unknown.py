"""An unknown attempt is never resent before the provider was asked."""

import uuid
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from delivery.models import Attempt, Batch, Delivery, Edition
from delivery.models.attempt import NO_BATCH
from delivery.monitoring import worker_heartbeat
from delivery.provider.from_settings import provider_from_settings
from delivery.queue.claim_due_batch import Claim, claim_lookup
from delivery.queue.edition_control import ask_again
from delivery.queue.lease_reaper import recover_dead_worker
from delivery.queue.settle_batch import settle_call, settle_lookup
from delivery.queue.start_call import start
from delivery.reports.waiting_sentence import waiting_sentence
from delivery.rules import after_call_or_lookup
from delivery.rules.call_results import Answered, Deferred, Unanswered
from delivery.rules.outcomes import Next, Settlement
from delivery.rules.reason import Reason, ReasonCode
from delivery.unknown.look_up_unknown import load_lookup_context, look_up
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.delivery.worker_steps import asked, begun, changed, claim_next_batch, publish_unanswered
from tests.publishing.second_connection import PATIENCE_S, at_once, beside

# Faults with which the provider accepts a call, but its worker gets no usable answer.
ACCEPTED_UNHEARD = ["accept_then_500", "accept_then_truncate", "accept_then_wrong_length"]


def a_call_whose_worker_is_lost(newsroom: Newsroom) -> uuid.UUID:
    """Record an attempt that its worker will never settle."""
    claimed = claim_next_batch()
    attempt = uuid.uuid4()
    start(claimed, attempt, uuid.uuid4(), deadline_s=5, lease_s=5)
    return attempt


@pytest.mark.parametrize("fault", ACCEPTED_UNHEARD)
def test_accepted_call_without_answer_is_found_once(newsroom: Newsroom, fault: str) -> None:
    edition = newsroom.publish(readers=3)
    newsroom.sandbox.set_fault(fault, calls=1)

    newsroom.deliver_all()
    assert newsroom.counts(edition).unknown == 3
    assert newsroom.sandbox.summary()["accepted"] == 3

    # Before the first look-up is due there is no query and no mail.
    newsroom.deliver_after(50)
    assert newsroom.outcomes(edition) == ["unknown"] * 3
    assert newsroom.sandbox.summary()["calls"]["total"] == 1

    newsroom.deliver_after(11)
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert {copy.evidence for copy in newsroom.copies(edition)} == {"lookup"}
    assert newsroom.sandbox.summary()["accepted"] == 3
    assert newsroom.state(edition) == "succeeded"


def test_absent_call_is_resent_after_the_last_look_up(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    newsroom.sandbox.set_fault("bad_gateway_502_html", calls=1)
    newsroom.deliver_all()

    for elapsed, looked_up, next_after in ((61, 1, 300), (240, 2, 900)):
        newsroom.deliver_after(elapsed)
        batch, (attempt,) = newsroom.batch(edition), newsroom.attempts(edition)
        assert batch.lookups == looked_up
        # The schedule of look-ups starts when the attempt became unknown.
        assert batch.unknown_since <= attempt.finished_at
        assert (batch.due_at - batch.unknown_since).total_seconds() == pytest.approx(next_after)
        assert newsroom.outcomes(edition) == ["unknown"] * 3
    newsroom.deliver_after(600)

    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert newsroom.sandbox.summary()["accepted"] == 3
    assert newsroom.batch(edition).tries == 1


def test_only_absent_copies_of_a_partial_call_are_resent(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=5)
    newsroom.sandbox.set_fault("accept_first_k_then_close", k=2, calls=1)
    newsroom.deliver_all()

    newsroom.deliver_after(61)
    assert sorted(newsroom.outcomes(edition)) == ["sent"] * 2 + ["unknown"] * 3
    assert [attempt.accepted for attempt in newsroom.attempts(edition)] == [2]
    for _ in range(2):
        newsroom.deliver_after(900)

    assert newsroom.outcomes(edition) == ["sent"] * 5
    summary = newsroom.sandbox.summary()
    assert (summary["accepted"], summary["deliveries_with_more_than_one_copy"]) == (5, 0)


def test_failed_look_up_does_not_count(newsroom: Newsroom) -> None:
    edition = publish_unanswered(newsroom)
    newsroom.sandbox.set_fault("search_503", calls=None)

    for _ in range(6):
        newsroom.deliver_after(900)

    assert newsroom.batch(edition).lookups == 0
    assert newsroom.outcomes(edition) == ["unknown"] * 3
    newsroom.sandbox.faults.clear()
    newsroom.deliver_after(900)
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert newsroom.sandbox.summary()["accepted"] == 3


def test_an_empty_result_of_a_lagging_search_does_not_count(newsroom: Newsroom) -> None:
    newsroom.sandbox.set_fault("search_delay", seconds=3600)
    edition = newsroom.publish(readers=6, batch_size=3)
    newsroom.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.step()
    # After the deadline of the first call, the provider accepts the second batch.
    newsroom.deliver_after(30)
    assert sorted(newsroom.outcomes(edition)) == ["sent"] * 3 + ["unknown"] * 3

    for _ in range(6):
        newsroom.deliver_after(900)

    assert newsroom.outcomes(edition).count("unknown") == 3
    assert newsroom.sandbox.summary()["accepted"] == 6
    newsroom.sandbox.faults.clear()
    newsroom.deliver_after(900)
    assert newsroom.outcomes(edition) == ["sent"] * 6
    assert newsroom.sandbox.summary()["accepted"] == 6


def test_silence_about_a_lost_call_counts_from_its_deadline(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    a_call_whose_worker_is_lost(newsroom)
    newsroom.let_time_pass(11)
    assert newsroom.recover_expired_leases() == 1
    (attempt,) = newsroom.attempts(edition)
    assert (attempt.result, attempt.finished_at) == (Attempt.Result.UNKNOWN, None)
    assert newsroom.batch(edition).unknown_since == attempt.deadline_at

    # The provider is asked at once, 6 s after the deadline.
    newsroom.deliver_all()
    assert newsroom.sandbox.summary()["calls"]["total"] == 1
    newsroom.deliver_after(48)
    assert newsroom.batch(edition).lookups == 0
    newsroom.deliver_after(6)

    assert newsroom.batch(edition).lookups == 1
    assert newsroom.outcomes(edition) == ["unknown"] * 3


def test_a_lost_call_that_was_accepted_is_found_at_once(newsroom: Newsroom) -> None:
    edition = publish_unanswered(newsroom)
    worker = uuid.uuid4()
    Batch.objects.update(state="sending", owner=worker, lease_until=Now() + timedelta(seconds=150))
    Batch.objects.update(waiting=3, unknown=0)
    Delivery.objects.update(outcome="waiting")
    Attempt.objects.update(deadline_at=Now() + timedelta(seconds=120))

    assert recover_dead_worker(worker, ())
    newsroom.deliver_all()

    assert newsroom.outcomes(edition) == ["sent"] * 3


def test_index_updated_between_two_queries_proves_no_absence(
    newsroom: Newsroom, settings: object
) -> None:
    settings.DELIVERY_LOOKUP_AFTER_S = (60.0,)  # type: ignore[attr-defined]
    newsroom.publish(readers=6, batch_size=3)
    newsroom.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.step()
    newsroom.let_time_pass(30)
    newsroom.step()

    # The first query of the look-up sees the old index, the second the new one.
    newsroom.sandbox.set_fault("search_delay", seconds=3600, calls=1)
    newsroom.deliver_after(31)

    assert newsroom.sandbox.summary()["deliveries_with_more_than_one_copy"] == 0
    assert newsroom.sandbox.summary()["accepted"] == 6


def test_deferred_copies_are_not_parked_with_unknown_ones(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    claimed, attempt, readers = begun()
    policy = after_call_or_lookup.Policy(5.0, 900.0, 10, (60.0,), resend_when_absent=False)
    mixed = after_call_or_lookup.after_call(
        Answered([Unanswered(because("Neither id nor error.")), Deferred(because("Slower."))]),
        readers,
        after_call_or_lookup.AttemptCounters(),
        jitter=0.5,
        policy=policy,
    )
    assert settle_call(claimed, attempt, mixed, Attempt.Result.ANSWERED)
    newsroom.let_time_pass(61)
    unconfirmed = asked()

    look_up(unconfirmed, provider_from_settings(), policy, jitter=0.5)
    newsroom.deliver_all()

    assert sorted(newsroom.outcomes(edition)) == ["sent", "unknown"]
    assert sorted(batch.state for batch in newsroom.batches(edition)) == ["done", "parked"]


@pytest.mark.parametrize("days", [43, 45])
def test_unknown_copies_past_retention_need_a_decision(newsroom: Newsroom, days: int) -> None:
    edition = newsroom.publish(readers=2)
    a_call_whose_worker_is_lost(newsroom)
    newsroom.let_time_pass(days * 86_400)
    newsroom.recover_expired_leases()
    for _ in range(4):
        newsroom.deliver_all()
        newsroom.let_time_pass(900)
    if days < 45:
        assert newsroom.outcomes(edition) == ["sent"] * 2
        return
    assert newsroom.batch(edition).state == "parked"
    assert newsroom.sandbox.summary()["accepted"] == 0
    assert newsroom.counts(edition).reason == Reason.of(ReasonCode.PROVIDER_HAS_FORGOTTEN)


def all_in_doubt(edition: Edition) -> None:
    """Set every batch as if its call had no usable answer and its look-up were due."""
    Batch.objects.filter(edition=edition).update(
        state="unknown", unknown=F("waiting"), waiting=0, unknown_since=Now(), due_at=Now()
    )


def test_workers_that_race_for_look_ups_get_one_each(newsroom: Newsroom) -> None:
    all_in_doubt(newsroom.publish(readers=10, batch_size=1))
    found = at_once(*[lambda: claim_lookup(uuid.uuid4(), lease_s=30)] * 20)
    claimed = [one.batch for one in found if one]
    assert len(claimed) == len(set(claimed)) == 10


def test_locked_unknown_batch_is_skipped(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4, batch_size=2)
    all_in_doubt(edition)
    lower, higher = newsroom.batches(edition)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM batch WHERE id = %s FOR UPDATE", [lower.pk])
        # This transaction keeps the lock until the other worker has its batch. A worker that waited
        # for the lock would never end.
        claimed = beside(lambda: claim_lookup(uuid.uuid4(), lease_s=30)).result(PATIENCE_S)
    assert claimed is not None
    assert claimed.batch == higher.pk


def test_a_look_up_that_lost_its_claim_changes_nothing(newsroom: Newsroom) -> None:
    edition = publish_unanswered(newsroom)
    newsroom.let_time_pass(61)
    stale = claim_lookup(uuid.uuid4(), lease_s=5)
    newsroom.let_time_pass(6)
    newsroom.recover_expired_leases()
    current = claim_lookup(uuid.uuid4(), lease_s=30)
    assert stale is not None
    assert current is not None

    silence = Settlement(outcomes={}, next=Next.LOOK_UP, confirmed_absent=True)
    assert not settle_lookup(stale, silence)

    assert newsroom.batch(edition).state == "looking_up"
    assert newsroom.batch(edition).lookups == 0


def test_a_failed_search_for_later_mail_proves_nothing(
    newsroom: Newsroom, settings: object
) -> None:
    settings.DELIVERY_LOOKUP_AFTER_S = (60.0,)  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=6, batch_size=3)
    newsroom.sandbox.set_fault("close_before_reading", calls=1)
    newsroom.step()
    newsroom.let_time_pass(30)
    newsroom.step()
    assert sorted(newsroom.outcomes(edition)) == ["sent"] * 3 + ["unknown"] * 3

    newsroom.sandbox.set_fault("search_503", calls=1)
    newsroom.let_time_pass(31)
    newsroom.step()

    assert sorted(newsroom.outcomes(edition)) == ["sent"] * 3 + ["unknown"] * 3


def test_finding_earlier_mail_does_not_prove_absence(newsroom: Newsroom) -> None:
    newsroom.publish(readers=6, batch_size=3)
    newsroom.step()
    newsroom.let_time_pass(30)
    newsroom.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.step()
    newsroom.let_time_pass(61)
    unconfirmed = asked()
    assert load_lookup_context(unconfirmed, remembers_days=45).later is None


def publish_with_late_search(newsroom: Newsroom, earlier: int = 0) -> Edition:
    """Publish to `earlier` readers and two more; only the last call gets no answer.

    The provider accepts this call, but its search shows the mail only after the last scheduled
    look-up.
    """
    newsroom.sandbox.set_fault("search_delay", seconds=86_400)
    edition = newsroom.publish(readers=2 + earlier, batch_size=2)
    for _ in range(earlier // 2):
        newsroom.step()
    newsroom.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition).count("unknown") == 2
    return edition


@pytest.mark.parametrize("earlier", [0, 4], ids=["only batch", "last batch"])
def test_search_later_than_the_schedule_causes_no_second_copy(
    newsroom: Newsroom, earlier: int
) -> None:
    edition = publish_with_late_search(newsroom, earlier)
    worker_heartbeat.beat(uuid.uuid4(), host="letterbox", pid=1)

    for _ in range(5):
        newsroom.deliver_after(900)
    counts = newsroom.counts(edition)
    assert counts.reason == Reason.of(ReasonCode.CHECK_MAIL_HIDDEN, for_s=3600.0)
    sentence = waiting_sentence(counts)
    assert "does not show Homing's check mail yet" in sentence
    assert "within 60 minutes" in sentence
    for _ in range(5):
        newsroom.deliver_after(900)

    # The decision is left to an author, who sees the reason.
    assert newsroom.state(edition) == "needs_attention"
    assert "later check mail" in waiting_sentence(newsroom.counts(edition))
    assert set(newsroom.sandbox.outbox.copies(lambda _: True).values()) == {1}
    assert newsroom.sandbox.summary()["dropped"] == 1
    newsroom.sandbox.faults.clear()
    assert ask_again(edition.pk, silences=2) == 2
    newsroom.deliver_all()
    assert set(newsroom.outcomes(edition)) == {"sent"}
    assert newsroom.sandbox.summary()["accepted"] == 2 + earlier


def test_a_copy_indexed_with_the_check_mail_is_found(newsroom: Newsroom) -> None:
    edition = publish_with_late_search(newsroom)
    newsroom.sandbox.faults.clear()
    newsroom.sandbox.set_fault("search_delay", seconds=86_400, calls=2)
    newsroom.deliver_after(61)

    # The second look-up searches once before the check mail, and twice after it.
    newsroom.deliver_after(240)

    assert newsroom.outcomes(edition) == ["sent"] * 2
    assert newsroom.sandbox.summary()["dropped"] == 1


def test_check_mail_goes_to_nobody_once_after_the_deadline(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    a_call_whose_worker_is_lost(newsroom)
    newsroom.let_time_pass(11)
    newsroom.recover_expired_leases()
    newsroom.deliver_after(54)
    assert newsroom.sandbox.summary()["dropped"] == 0

    for seconds in (240, 600):
        newsroom.deliver_after(seconds)

    assert newsroom.outcomes(edition) == ["sent"] * 3
    (check,) = [
        message
        for message in map(newsroom.sandbox.outbox.message, range(4))
        if "delivery" not in message.metadata
    ]
    assert (check.recipients, check.stream) == (["test@blackhole.postmarkapp.com"], "broadcast")
    recorded = Attempt.objects.get(batch_id=NO_BATCH)
    assert check.metadata == {"check": recorded.pk.hex}
    assert recorded.accepted == 1


def test_check_mail_accepted_without_an_error_code_counts(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.sandbox.set_fault("bad_gateway_502_html", calls=1)
    newsroom.deliver_all()
    newsroom.sandbox.set_fault("success_without_error_code", calls=1)

    for _ in range(3):
        newsroom.deliver_after(900)

    assert newsroom.outcomes(edition) == ["sent"] * 2
    assert newsroom.sandbox.summary()["dropped"] == 1


def test_check_mail_waits_for_the_deadline_of_the_call(newsroom: Newsroom) -> None:
    newsroom.publish(readers=1)
    newsroom.sandbox.set_fault("bad_gateway_502_html", calls=1)
    newsroom.deliver_all()
    newsroom.deliver_after(61)
    # Move the deadline to a time after the second look-up.
    Attempt.objects.update(deadline_at=Now() + timedelta(seconds=300))

    newsroom.deliver_after(240)
    assert newsroom.sandbox.summary()["dropped"] == 0
    newsroom.deliver_after(600)

    assert newsroom.sandbox.summary()["dropped"] == 1
    assert newsroom.sandbox.summary()["accepted"] == 1


def test_silence_without_accepted_check_mail_needs_a_decision(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.deliver_all()
    newsroom.sandbox.set_fault("search_delay", seconds=86_400)
    newsroom.sandbox.set_account("pending")

    for _ in range(4):
        newsroom.deliver_after(900)
        assert newsroom.outcomes(edition) == ["unknown"] * 2
    assert newsroom.counts(edition).reason == Reason.of(ReasonCode.NOT_FOUND_UNPROVED)
    assert newsroom.sandbox.summary()["accepted"] == 2


def test_later_mail_on_another_stream_proves_nothing(newsroom: Newsroom) -> None:
    edition = publish_with_late_search(newsroom)
    newsroom.let_time_pass(61)
    changed_stream = {"stream": "outbound", "started_at": Now(), "accepted": 1}
    other = a_copy_of(newsroom.attempts(edition)[0], **changed_stream)
    assert load_lookup_context(asked(), remembers_days=45).later is None

    Attempt.objects.filter(pk=other.pk).update(stream="broadcast")
    newsroom.let_time_pass(200)
    newsroom.recover_expired_leases()
    later = load_lookup_context(asked(), remembers_days=45).later
    assert later is not None
    assert later.attempt == other.pk


def test_mail_before_the_clock_was_set_back_is_not_later(newsroom: Newsroom) -> None:
    edition = publish_with_late_search(newsroom)
    newsroom.let_time_pass(61)
    in_an_hour = Now() + timedelta(hours=1)
    a_copy_of(newsroom.attempts(edition)[0], started_at=in_an_hour, accepted=1)
    assert load_lookup_context(asked(), remembers_days=45).later is None


def a_copy_of(attempt: Attempt, **values: object) -> Attempt:
    """Store another attempt of another batch, with these values."""
    attempt.pk, attempt.batch_id = uuid.uuid4(), attempt.batch_id + 1
    for name, value in values.items():
        setattr(attempt, name, value)
    attempt.save(force_insert=True)
    return attempt


def test_copies_prove_more_than_a_check_mail(newsroom: Newsroom) -> None:
    edition = publish_with_late_search(newsroom)
    newsroom.deliver_after(61)
    newsroom.deliver_after(300)
    claimed = asked_after(newsroom, 900)
    check = load_lookup_context(claimed, remembers_days=45).later
    assert check is not None
    assert check.is_check_mail

    other = a_copy_of(newsroom.attempts(edition)[0], started_at=Now(), accepted=1)

    later = load_lookup_context(claimed, remembers_days=45).later
    assert later is not None
    assert (later.attempt, later.is_check_mail) == (other.pk, False)


def asked_after(newsroom: Newsroom, seconds: float) -> Claim:
    newsroom.let_time_pass(seconds)
    return asked()


def test_failed_search_by_key_proves_nothing(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    Delivery.objects.update(sent_at=edition.published_at)
    newsroom.step()
    assert newsroom.outcomes(edition) == ["unknown"]
    newsroom.sandbox.set_fault("search_503", calls=1)
    newsroom.step()
    (asked,) = [batch for batch in newsroom.batches(edition) if batch.unknown]
    assert (asked.lookups, asked.deferrals) == (0, 1)
    assert asked.reason.code != ReasonCode.NOT_FOUND_YET


@pytest.mark.parametrize("counted", [True, False], ids=["counted", "not counted"])
def test_unknown_copy_in_a_queued_batch_is_looked_up(
    newsroom: Newsroom, small_batches: None, counted: bool
) -> None:
    edition = newsroom.publish(readers=2)
    changed(newsroom.copies(edition)[0], outcome="unknown")
    if counted:
        Batch.objects.filter(edition=edition).update(waiting=1, unknown=1)

    newsroom.deliver_all()
    assert newsroom.counts(edition).sent == 1
    for _ in range(4):
        newsroom.deliver_after(1000)

    assert newsroom.state(edition) == "succeeded"
    assert newsroom.sandbox.summary()["accepted"] == 2
