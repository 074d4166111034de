"""A 429 slows all workers at once and loses no copies; later the rate recovers."""

import threading
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from delivery.models import Attempt, Batch, Edition, SendRate
from delivery.models.attempt import NO_BATCH
from delivery.queue.claim_due_batch import Claim, claim
from delivery.queue.shared_send_rate import acquire_permit, ensure_row, slow_down
from delivery.queue.short_transaction import short_transaction
from delivery.reports.queue_snapshot import read_snapshot
from delivery.reports.sending_health import read_health
from tests.delivery.edition_factory import Newsroom
from tests.delivery.http_responses import http
from tests.delivery.scripted_http_server import Conversation, ScriptedServer
from tests.publishing.second_connection import PATIENCE_S, at_once, beside


def take(rate_per_s: float | None = None) -> Claim | None:
    return claim(uuid.uuid4(), lease_s=30, rate_per_s=rate_per_s)


def refused_once(newsroom: Newsroom, **how: object) -> None:
    newsroom.sandbox.set_fault("refuse_429", calls=1, **how)
    assert newsroom.step()
    assert SendRate.objects.get().slowed_at is not None


def one_copy_each(newsroom: Newsroom, edition: Edition) -> None:
    counts = newsroom.counts(edition)
    assert counts.sent == counts.audience
    summary = newsroom.sandbox.summary()
    assert summary["accepted"] == summary["distinct_deliveries"] == counts.audience
    assert set(Batch.objects.filter(edition=edition).values_list("tries", flat=True)) == {0}


def without_growth(**facts: float) -> None:
    """Move the slowdown into the future, so that the reduced rate does not grow."""
    SendRate.objects.update(slowed_at=datetime(2100, 1, 1, tzinfo=UTC), **facts)


def test_with_a_ceiling_a_429_halves_the_ceiling(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_RATE_PER_S = 100.0  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=3)
    assert newsroom.counts(edition).slowed_to_per_s is None
    refused_once(newsroom)
    assert SendRate.objects.get().slowed_to_per_s == 50
    slowed_to = newsroom.counts(edition).slowed_to_per_s
    assert slowed_to is not None
    assert 50 <= slowed_to < 100
    # The slowdown ends when the rate reaches the ceiling. Without a ceiling the slowdown would last
    # longer.
    SendRate.objects.update(slowed_at=newsroom.counts(edition).now - timedelta(seconds=2.5))
    assert newsroom.counts(edition).slowed_to_per_s is None
    assert read_health().slowed_to_per_s is None
    with connection.cursor() as cursor:
        assert read_snapshot(cursor).slowed_to_per_s is None


def test_the_ceiling_of_the_settings_limits_each_step(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_RATE_PER_S = 0.01  # type: ignore[attr-defined]
    newsroom.publish(readers=4, batch_size=2)
    assert newsroom.step()
    # Two copies at this rate take 200 seconds.
    assert not newsroom.step()
    newsroom.let_time_pass(201)
    assert newsroom.step()


@pytest.mark.parametrize(("seconds", "least", "most"), [(2, 500, 2_500), (11, 100, 100)])
def test_rate_is_measured_from_recent_acceptances(
    newsroom: Newsroom, seconds: float, least: float, most: float
) -> None:
    newsroom.publish(readers=3)
    newsroom.deliver_all()
    Attempt.objects.update(messages=10_000, accepted=10_000)
    newsroom.publish()
    newsroom.let_time_pass(seconds)
    refused_once(newsroom)
    pace = SendRate.objects.get().slowed_to_per_s
    assert pace is not None
    assert least <= pace <= most


def test_check_mail_does_not_change_the_measured_rate(newsroom: Newsroom) -> None:
    newsroom.publish(readers=3)
    newsroom.deliver_all()
    check = Attempt.objects.get()
    check.pk, check.batch_id = uuid.uuid4(), NO_BATCH
    check.messages = check.accepted = 1_000_000
    check.save(force_insert=True)
    newsroom.publish()

    refused_once(newsroom)

    pace = SendRate.objects.get().slowed_to_per_s
    assert pace is not None
    assert pace <= 100


def test_a_call_that_began_after_the_last_halving_halves_again(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    newsroom.deliver_all()
    (attempt,) = newsroom.attempts(edition)
    assert slow_down(attempt.pk, ceiling_per_s=1_000.0)
    assert not slow_down(attempt.pk, ceiling_per_s=1_000.0)
    SendRate.objects.update(slowed_at=attempt.started_at - timedelta(milliseconds=1))
    assert slow_down(attempt.pk, ceiling_per_s=1_000.0)


def test_calls_in_flight_together_halve_the_rate_once(newsroom: Newsroom, settings: object) -> None:
    calls = 3
    settings.DELIVERY_BATCH_SIZE = 1  # type: ignore[attr-defined]
    settings.DELIVERY_RATE_PER_S = 1_000.0  # type: ignore[attr-defined]
    settings.DELIVERY_HTTP_DEADLINE_S = 60.0  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=calls)
    all_are_there = threading.Barrier(calls, timeout=30)

    def refuse(call: Conversation) -> None:
        call.read_request()
        all_are_there.wait()
        call.write(http("429 Slow"))

    with ScriptedServer(*[refuse] * calls) as provider:
        settings.POSTMARK_BASE_URL = provider.url  # type: ignore[attr-defined]
        claimed = [take(1_000.0) for _ in range(calls)]
        ends = [beside(lambda one=one: newsroom.dispatcher().send(one)) for one in claimed]
        for each in ends:
            each.result(PATIENCE_S)

    assert [attempt.result for attempt in newsroom.attempts(edition)] == ["refused"] * calls
    assert SendRate.objects.get().slowed_to_per_s == 500


def test_refusals_recorded_at_once_halve_the_rate_once(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2, batch_size=1)
    newsroom.deliver_all()
    ensure_row()
    one, other = newsroom.attempts(edition)

    with transaction.atomic(), connection.cursor() as cursor:
        # Lock the row, start both refusals, and let each of them wait for the row.
        cursor.execute("SELECT 1 FROM send_rate FOR UPDATE")
        refusals = [beside(lambda: slow_down(other.pk, ceiling_per_s=1_000.0)) for _ in range(2)]
        newsroom.wait_for_a_backend_that_waits_for_a_lock(sessions=2)

    assert sorted(refusal.result(PATIENCE_S) for refusal in refusals) == [False, True]
    assert not slow_down(one.pk, ceiling_per_s=1_000.0)
    assert SendRate.objects.get().slowed_to_per_s == 500


def test_reduced_rate_grows_back_and_ends(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    refused_once(newsroom)
    seen = [newsroom.counts(edition).slowed_to_per_s]

    # Write the seconds since the last 429 into the row, because the clock runs during the test.
    for seconds in (0.2, 2.2):
        SendRate.objects.update(slowed_at=newsroom.counts(edition).now - timedelta(seconds=seconds))
        seen.append(newsroom.counts(edition).slowed_to_per_s)
    newsroom.let_time_pass(90)

    paces = [pace for pace in seen if pace is not None]
    assert len(paces) == 3
    assert paces == sorted(set(paces))
    # The counts show no slowdown even without a worker. The next claim deletes the stored slowdown.
    assert newsroom.counts(edition).slowed_to_per_s is None
    newsroom.deliver_all()
    assert SendRate.objects.get().slowed_at is None
    one_copy_each(newsroom, edition)


def test_single_too_fast_message_also_slows_down(newsroom: Newsroom) -> None:
    newsroom.publish(readers=3)
    newsroom.sandbox.set_fault("item_error", code=429, recipients=["reader1@example.net"])
    newsroom.deliver_all()
    assert SendRate.objects.get().slowed_to_per_s == 100


@pytest.mark.parametrize("fault", ["maintenance_503", "bad_gateway_502_html"])
def test_other_faults_do_not_reduce_the_send_rate(newsroom: Newsroom, fault: str) -> None:
    edition = newsroom.publish(readers=3)
    newsroom.sandbox.set_fault(fault, calls=1)
    newsroom.deliver_all()
    assert len(newsroom.attempts(edition)) == 1
    assert newsroom.counts(edition).slowed_to_per_s is None


def test_after_a_429_batches_wait_for_their_permit(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_BATCH_SIZE = 500  # type: ignore[attr-defined]
    newsroom.publish(readers=1_500)
    newsroom.publish()
    refused_once(newsroom)
    without_growth(slowed_to_per_s=10)
    newsroom.let_time_pass(2)

    # The rate is ten copies per second, so the next 500 copies wait for 50 seconds.
    assert take() is not None
    assert take() is None
    newsroom.let_time_pass(25)
    assert take() is None
    newsroom.let_time_pass(25)
    assert take() is not None


def test_no_worker_calls_in_the_first_second(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    refused_once(newsroom)
    refused_at = newsroom.attempts(edition)[0].finished_at
    assert refused_at is not None
    assert SendRate.objects.get().next_claim_at >= refused_at + timedelta(seconds=1)


def test_no_worker_calls_before_retry_after(newsroom: Newsroom) -> None:
    newsroom.publish(readers=3, batch_size=1)
    refused_once(newsroom, retry_after=600)
    newsroom.let_time_pass(500)
    assert take() is None
    newsroom.let_time_pass(101)
    assert take() is not None


def test_a_look_up_is_not_paced(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4, batch_size=2)
    newsroom.sandbox.set_fault("accept_then_close", calls=1)
    assert newsroom.step()
    refused_once(newsroom, retry_after=3_600)
    newsroom.deliver_after(61)
    assert newsroom.outcomes(edition) == ["sent"] * 2 + ["waiting"] * 2


THREADS = 12


def how_many_of_a_crowd_claim(rate_per_s: float | None) -> int:
    found = at_once(*[lambda: claim(uuid.uuid4(), lease_s=300, rate_per_s=rate_per_s)] * THREADS)
    claimed = [one.batch for one in found if one]
    assert len(claimed) == len(set(claimed))
    return len(claimed)


@pytest.mark.parametrize("ceiling", [None, 20.0], ids=["no ceiling", "ceiling"])
def test_one_slowed_worker_claims_per_permit(
    newsroom: Newsroom, settings: object, ceiling: float | None
) -> None:
    settings.DELIVERY_RATE_PER_S = ceiling  # type: ignore[attr-defined]
    newsroom.publish(readers=2_000, batch_size=200)
    newsroom.sandbox.set_fault("refuse_429", calls=1, retry_after=30)
    assert newsroom.step()

    assert how_many_of_a_crowd_claim(ceiling) == 0
    # Date the slowdown in the future, so that the rate does not grow during the test.
    SendRate.objects.update(slowed_to_per_s=10, slowed_at=datetime(2100, 1, 1, tzinfo=UTC))
    newsroom.let_time_pass(31)
    assert how_many_of_a_crowd_claim(ceiling) == 1
    newsroom.let_time_pass(50)
    assert how_many_of_a_crowd_claim(ceiling) == 1


def test_a_claim_does_not_wait_for_a_permit_being_acquired(newsroom: Newsroom) -> None:
    newsroom.publish(readers=1)
    ensure_row()
    with short_transaction() as cursor:
        assert acquire_permit(cursor, ceiling_per_s=1_000.0) is not None
        # This transaction locks the permit until the other worker has its answer. A worker that
        # waited for the permit would never end.
        assert (
            beside(lambda: claim(uuid.uuid4(), lease_s=30, rate_per_s=1_000.0)).result(PATIENCE_S)
            is None
        )
    assert claim(uuid.uuid4(), lease_s=30, rate_per_s=1_000.0) is not None
