"""Nothing of an unknown attempt is sent again before the provider was asked."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from delivery import retries
from delivery.dispatch import postmark_from_settings
from delivery.look_up import look_up
from delivery.models import Attempt, Batch, Delivery, Edition
from delivery.outcomes import Answered, NotNow, Unanswered
from delivery.queue.claim import claim_look_up
from delivery.queue.doubt import doubt_of
from delivery.queue.settle import settle_call, settle_look_up
from delivery.queue.start import start
from delivery.settlement import Next, Settlement
from postmark_sandbox.server import SandboxServer
from tests.delivery.beside import Beside, at_once
from tests.delivery.hands_on_an_edition import asked, begun, taken, unheard
from tests.delivery.newsroom import Newsroom

# How a call can be accepted without its worker learning of it.
ACCEPTED_UNHEARD = ["accept_then_500", "accept_then_truncate", "accept_then_wrong_length"]


def a_call_whose_worker_is_lost(newsroom: Newsroom) -> uuid.UUID:
    """The attempt is on record, and nobody will ever settle it."""
    claimed = taken()
    attempt = uuid.uuid4()
    start(claimed, attempt, uuid.uuid4(), deadline_s=5, lease_s=5)
    return attempt


@pytest.mark.parametrize("fault", ACCEPTED_UNHEARD)
def test_what_was_accepted_unheard_is_found_by_asking_and_never_sent_twice(
    newsroom: Newsroom, provider: SandboxServer, fault: str
) -> None:
    edition = newsroom.publish(readers=3)
    provider.sandbox.set_fault(fault, calls=1)

    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["unknown"] * 3
    assert newsroom.books(edition).unknown == 3
    assert provider.sandbox.summary()["accepted"] == 3

    newsroom.deliver_after(61)

    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert set(Delivery.objects.values_list("evidence", flat=True)) == {"lookup"}
    assert provider.sandbox.summary()["accepted"] == 3
    assert newsroom.state(edition) == "succeeded"


def test_what_was_surely_not_accepted_is_sent_again_after_the_last_look_up(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)
    provider.sandbox.set_fault("bad_gateway_502_html", calls=1)
    newsroom.deliver_all()

    for elapsed, looked_up in ((61, 1), (240, 2)):
        newsroom.deliver_after(elapsed)
        assert newsroom.batch(edition).lookups == looked_up
        assert newsroom.outcomes(edition) == ["unknown"] * 3
    newsroom.deliver_after(600)

    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert provider.sandbox.summary()["accepted"] == 3
    assert newsroom.batch(edition).tries == 1


def test_before_the_first_look_up_is_due_nothing_is_asked_and_nothing_is_sent(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = unheard(newsroom, provider)
    calls = provider.sandbox.summary()["calls"]["total"]
    newsroom.deliver_after(59)
    assert provider.sandbox.summary()["calls"]["total"] == calls
    assert newsroom.outcomes(edition) == ["unknown"] * 3


def test_of_a_call_that_was_accepted_in_part_the_rest_goes_again_and_only_the_rest(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=5)
    provider.sandbox.set_fault("accept_first_k_then_close", k=2, calls=1)
    newsroom.deliver_all()

    newsroom.deliver_after(61)
    assert sorted(newsroom.outcomes(edition)) == ["sent"] * 2 + ["unknown"] * 3
    for _ in range(2):
        newsroom.deliver_after(900)

    assert newsroom.outcomes(edition) == ["sent"] * 5
    summary = provider.sandbox.summary()
    assert (summary["accepted"], summary["deliveries_with_more_than_one_copy"]) == (5, 0)


def test_what_a_look_up_finds_is_credited_to_its_attempt(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)
    provider.sandbox.set_fault("accept_first_k_then_close", k=2, calls=1)
    newsroom.deliver_all()
    newsroom.let_time_pass(61)

    newsroom.deliver_all()

    assert [attempt.accepted for attempt in newsroom.attempts(edition)] == [2]


def test_a_look_up_that_fails_says_nothing_and_does_not_count(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = unheard(newsroom, provider)
    provider.sandbox.set_fault("search_503", calls=None)

    for _ in range(6):
        newsroom.deliver_after(900)

    assert newsroom.batch(edition).lookups == 0
    assert newsroom.outcomes(edition) == ["unknown"] * 3
    provider.sandbox.faults.clear()
    newsroom.deliver_after(900)
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert provider.sandbox.summary()["accepted"] == 3


def test_while_the_search_does_not_show_later_mail_its_silence_does_not_count(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    provider.sandbox.set_fault("search_delay", seconds=3600)
    edition = newsroom.publish(readers=6, batch_size=3)
    provider.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.step()
    # The deadline of the first call passes, and only then the second batch is accepted.
    newsroom.deliver_after(30)
    assert sorted(newsroom.outcomes(edition)) == ["sent"] * 3 + ["unknown"] * 3

    for _ in range(6):
        newsroom.deliver_after(900)

    assert newsroom.outcomes(edition).count("unknown") == 3
    assert provider.sandbox.summary()["accepted"] == 6
    provider.sandbox.faults.clear()
    newsroom.deliver_after(900)
    assert newsroom.outcomes(edition) == ["sent"] * 6
    assert provider.sandbox.summary()["accepted"] == 6


def test_a_lost_worker_leaves_an_attempt_that_is_looked_up_from_its_deadline_on(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)
    a_call_whose_worker_is_lost(newsroom)
    newsroom.let_time_pass(11)
    assert newsroom.sweep() == 1
    (attempt,) = newsroom.attempts(edition)
    batch = newsroom.batch(edition)
    assert (attempt.result, attempt.finished_at) == (Attempt.Result.UNKNOWN, None)
    assert batch.doubt_since == attempt.deadline_at
    assert (batch.due_at - attempt.deadline_at).total_seconds() == pytest.approx(60)
    assert newsroom.outcomes(edition) == ["unknown"] * 3


def test_a_search_that_catches_up_between_two_questions_proves_nothing_too_early(
    newsroom: Newsroom, provider: SandboxServer, settings: object
) -> None:
    settings.DELIVERY_LOOKUP_AFTER_S = (60.0,)  # type: ignore[attr-defined]
    newsroom.publish(readers=6, batch_size=3)
    provider.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.step()
    newsroom.let_time_pass(30)
    newsroom.step()

    # The first question of the look-up still meets the old index, the second meets the new one.
    provider.sandbox.set_fault("search_delay", seconds=3600, calls=1)
    newsroom.deliver_after(31)

    assert provider.sandbox.summary()["deliveries_with_more_than_one_copy"] == 0
    assert provider.sandbox.summary()["accepted"] == 6


def test_copies_that_were_put_off_are_not_parked_with_those_in_doubt(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=2)
    claimed, attempt, readers = begun()
    policy = retries.Policy(5.0, 900.0, 10, (60.0,), resend_when_absent=False)
    mixed = retries.after_call(
        Answered([Unanswered("Neither id nor error."), NotNow("Slower.")]),
        readers,
        tries=0,
        setbacks=0,
        jitter=0.5,
        policy=policy,
    )
    assert settle_call(claimed, attempt, mixed, Attempt.Result.ANSWERED)
    newsroom.let_time_pass(61)
    doubtful = asked()

    look_up(doubtful, postmark_from_settings(), policy, jitter=0.5)
    newsroom.deliver_all()

    assert sorted(newsroom.outcomes(edition)) == ["sent", "unknown"]
    assert sorted(batch.state for batch in newsroom.batches(edition)) == ["done", "parked"]


@pytest.mark.parametrize("days", [43, 45])
def test_doubt_that_is_older_than_postmarks_memory_waits_for_a_person(
    newsroom: Newsroom, provider: SandboxServer, days: int
) -> None:
    edition = newsroom.publish(readers=2)
    a_call_whose_worker_is_lost(newsroom)
    newsroom.let_time_pass(days * 86_400)
    newsroom.sweep()
    for _ in range(4):
        newsroom.deliver_all()
        newsroom.let_time_pass(900)
    if days < 45:
        assert newsroom.outcomes(edition) == ["sent"] * 2
        return
    assert newsroom.batch(edition).state == "parked"
    assert provider.sandbox.summary()["accepted"] == 0
    assert "forgotten" in newsroom.books(edition).reason


# --- One look-up at a time ------------------------------------------------------------------------


def all_in_doubt(edition: Edition) -> None:
    """Every batch as if its call had no usable answer, and its look-up due."""
    Batch.objects.filter(edition=edition).update(
        state="unknown", unknown=F("waiting"), waiting=0, doubt_since=Now(), due_at=Now()
    )


def test_workers_that_race_for_look_ups_get_one_each(newsroom: Newsroom) -> None:
    all_in_doubt(newsroom.publish(readers=10, batch_size=1))
    found = at_once(20, lambda: claim_look_up(uuid.uuid4(), lease_s=30))
    claimed = [one.batch for one in found if one]
    assert len(claimed) == len(set(claimed)) == 10


def test_doubt_that_another_transaction_is_claiming_is_passed_over(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4, batch_size=2)
    all_in_doubt(edition)
    lower, higher = newsroom.batches(edition)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM batch WHERE id = %s FOR UPDATE", [lower.pk])
        # The lock is held until the other has its batch: were it waited for, this would not end.
        claimed = Beside(lambda: claim_look_up(uuid.uuid4(), lease_s=30)).end()
    assert claimed is not None
    assert claimed.batch == higher.pk


def test_a_look_up_that_lost_its_claim_changes_nothing(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = unheard(newsroom, provider)
    newsroom.let_time_pass(61)
    stale = claim_look_up(uuid.uuid4(), lease_s=5)
    newsroom.let_time_pass(6)
    newsroom.sweep()
    current = claim_look_up(uuid.uuid4(), lease_s=30)
    assert stale is not None
    assert current is not None

    silence = Settlement(fates={}, next=Next.ASK, said_absent=True)
    assert not settle_look_up(stale, silence)

    assert newsroom.batch(edition).state == "looking_up"
    assert newsroom.batch(edition).lookups == 0


# --- What silence is worth ------------------------------------------------------------------------


def test_every_look_up_of_the_schedule_counts_from_the_beginning(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)
    provider.sandbox.set_fault("close_before_reading", calls=1)
    newsroom.deliver_all()
    newsroom.deliver_after(61)

    batch = newsroom.batch(edition)
    (attempt,) = newsroom.attempts(edition)
    assert batch.lookups == 1
    assert attempt.finished_at is not None
    assert batch.doubt_since is not None
    assert batch.doubt_since <= attempt.finished_at
    assert (batch.due_at - batch.doubt_since).total_seconds() == pytest.approx(300)


def test_a_question_for_later_mail_that_fails_confirms_no_silence(
    newsroom: Newsroom, provider: SandboxServer, settings: object
) -> None:
    settings.DELIVERY_LOOKUP_AFTER_S = (60.0,)  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=6, batch_size=3)
    provider.sandbox.set_fault("close_before_reading", calls=1)
    newsroom.step()
    newsroom.let_time_pass(30)
    newsroom.step()
    assert sorted(newsroom.outcomes(edition)) == ["sent"] * 3 + ["unknown"] * 3

    provider.sandbox.set_fault("search_503", calls=1)
    newsroom.let_time_pass(31)
    newsroom.step()

    assert sorted(newsroom.outcomes(edition)) == ["sent"] * 3 + ["unknown"] * 3


def test_earlier_mail_that_is_shown_confirms_no_silence(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    newsroom.publish(readers=6, batch_size=3)
    newsroom.step()
    newsroom.let_time_pass(30)
    provider.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.step()
    newsroom.let_time_pass(61)
    doubtful = asked()
    assert doubt_of(doubtful).witness is None


def test_a_search_by_key_that_fails_is_no_information(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=1)
    Delivery.objects.update(sent_at=edition.published_at)
    newsroom.step()
    assert newsroom.outcomes(edition) == ["unknown"]
    provider.sandbox.set_fault("search_503", calls=1)
    newsroom.step()
    (asked,) = [batch for batch in newsroom.batches(edition) if batch.unknown]
    assert (asked.lookups, asked.setbacks) == (0, 1)
