"""A worker's next step, its log lines, and its behaviour during faults."""

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from delivery import log_context
from delivery.models import Delivery, Edition
from delivery.provider.from_settings import policy_from_settings, provider_from_settings
from delivery.queue.claim_due_batch import claim, claim_lookup
from delivery.worker.step import Dispatcher
from delivery.worker.worker_process import Worker
from postmark_sandbox.server import SandboxServer
from tests.capture_log import Lines, log_lines
from tests.delivery.edition_factory import Newsroom, steady_dice
from tests.delivery.queue.test_start_call import a_call_held_by
from tests.delivery.worker_steps import publish_unanswered, states


def one_unconfirmed_and_one_queued(newsroom: Newsroom) -> tuple[Edition, Edition]:
    """Publish an edition with a due look-up, and another with a due call."""
    unconfirmed = publish_unanswered(newsroom, 2)
    newsroom.let_time_pass(61)
    return unconfirmed, newsroom.publish()


def dispatcher(look_ups: threading.Lock, *, claims_ahead: bool = False) -> Dispatcher:
    """Make the dispatcher of one thread. All threads of a worker share `look_ups`."""
    return Dispatcher(
        uuid.uuid4(),
        provider_from_settings(),
        policy=policy_from_settings(),
        jitter=steady_dice,
        lookup_lock=look_ups,
        claims_ahead=claims_ahead,
    )


def test_other_threads_send_while_one_looks_up(newsroom: Newsroom) -> None:
    unconfirmed, queued = one_unconfirmed_and_one_queued(newsroom)
    look_ups = threading.Lock()
    other_thread = dispatcher(look_ups)
    with look_ups:
        while other_thread.step():
            pass
    assert newsroom.outcomes(queued) == ["sent"] * 2
    assert newsroom.outcomes(unconfirmed) == ["unknown"] * 2
    assert other_thread.step()
    assert newsroom.outcomes(unconfirmed) == ["sent"] * 2


def test_calls_and_look_ups_take_turns(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_BATCH_SIZE = 1  # type: ignore[attr-defined]
    unconfirmed, queued = one_unconfirmed_and_one_queued(newsroom)
    hands = dispatcher(threading.Lock())
    hands.step()
    hands.step()
    # The call and the look-up do not wait for each other.
    assert "sent" in newsroom.outcomes(queued)
    assert "unknown" not in newsroom.outcomes(unconfirmed)
    assert "waiting" in newsroom.outcomes(queued)


def test_batch_claimed_ahead_is_sent_or_released(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_BATCH_SIZE = 1  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=40)
    hands = dispatcher(threading.Lock(), claims_ahead=True)
    # A step claims ahead only shortly after a look-up, so a slow machine needs several steps.
    while "claimed" not in states(newsroom, edition):
        assert hands.step()
    ahead = states(newsroom, edition).index("claimed")
    sent = states(newsroom, edition).count("done")
    assert hands.step()
    assert states(newsroom, edition)[ahead] == "done"
    assert states(newsroom, edition).count("done") == sent + 1
    while "claimed" not in states(newsroom, edition):
        assert hands.step()
    hands.close()
    assert set(states(newsroom, edition)) == {"done", "ready"}


def test_a_failed_claim_ahead_loses_no_answer(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_BATCH_SIZE = 1  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=40)
    hands = dispatcher(threading.Lock(), claims_ahead=True)
    while "claimed" not in states(newsroom, edition):
        assert hands.step()
    sent = states(newsroom, edition).count("done")
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER TABLE batch ADD CONSTRAINT fault CHECK (state <> 'claimed') NOT VALID"
        )
        try:
            assert hands.step()
        finally:
            cursor.execute("ALTER TABLE batch DROP CONSTRAINT fault")
    assert states(newsroom, edition).count("done") == sent + 1


def test_stopped_worker_releases_claims_hidden_from_threads(newsroom: Newsroom) -> None:
    unconfirmed, queued = one_unconfirmed_and_one_queued(newsroom)
    worker = Worker(1, is_awaited=True)
    # The worker does not know of its claim, as if the connection had broken during the commit.
    assert claim(worker.id, lease_s=30)
    assert claim_lookup(worker.id, lease_s=30)
    worker.run(until=lambda: True)
    assert states(newsroom, unconfirmed) == ["unknown"]
    assert states(newsroom, queued) == ["ready"]
    assert newsroom.batch(queued).crashes == 0


def test_nothing_is_claimed_ahead_of_a_due_look_up(newsroom: Newsroom, settings: object) -> None:
    settings.DELIVERY_BATCH_SIZE = 1  # type: ignore[attr-defined]
    unconfirmed, queued = one_unconfirmed_and_one_queued(newsroom)
    hands = dispatcher(threading.Lock(), claims_ahead=True)
    while "unknown" in newsroom.outcomes(unconfirmed):
        assert "claimed" not in states(newsroom, queued)
        assert hands.step()


def test_a_lost_database_connection_loses_no_answer(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=2)
    with a_call_held_by(provider, newsroom, "after_accept"), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
        # A session of an earlier test may not have ended yet.
        assert (True,) in cursor.fetchall()
    assert newsroom.outcomes(edition) == ["sent"] * 2
    assert set(Delivery.objects.values_list("evidence", flat=True)) == {"reply"}


def test_a_lost_database_connection_loses_no_look_up(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.sandbox.set_fault("accept_then_500", calls=1)
    newsroom.deliver_all()
    newsroom.let_time_pass(61)
    cuts = []

    def cut_once(execute: Callable[..., object], sql: str, *rest: Any) -> object:
        if "settle_batch_1" in sql and not cuts:
            cuts.append(sql)
            sql, rest = "SELECT pg_terminate_backend(pg_backend_pid())", (None, *rest[1:])
        return execute(sql, *rest)

    with connection.execute_wrapper(cut_once):
        newsroom.step()
    assert cuts
    assert newsroom.outcomes(edition) == ["sent"] * 2


@pytest.mark.parametrize("given", ["0", "65", "many"])
def test_a_concurrency_out_of_range_is_refused_with_one_sentence(given: str) -> None:
    sentence = f"--concurrency is “{given}”. Give a whole number from 1 to 64."
    with pytest.raises(CommandError, match=sentence):
        call_command("deliver", "--concurrency", given)


@pytest.fixture
def lines() -> Iterator[Lines]:
    with log_lines() as lines:
        yield lines
        log_context.bind(**dict.fromkeys(log_context.IDS))


def ids_of(newsroom: Newsroom, edition: Edition) -> dict[str, object]:
    """Return the ids that a log line about the edition's only batch contains."""
    return {
        "issue": str(edition.issue_id),
        "version": edition.version,
        "batch": newsroom.batch(edition).pk,
        "attempt": newsroom.attempts(edition)[-1].pk.hex,
    }


def test_the_log_line_of_a_call_names_its_ids(newsroom: Newsroom, lines: Lines) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.step()
    (line,) = [line for line in lines() if line["logger"] == "delivery.worker.step"]
    assert ids_of(newsroom, edition).items() <= line.items()
    assert line["event"].endswith(": 2 deliveries, done")


def test_the_line_of_a_look_up_names_its_call(newsroom: Newsroom, lines: Lines) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.sandbox.set_fault("accept_then_close")
    newsroom.step()
    log_context.bind(**dict.fromkeys(log_context.IDS))
    newsroom.deliver_after(100)
    (line,) = [line for line in lines() if line["logger"] == "delivery.unknown.look_up_unknown"]
    assert ids_of(newsroom, edition).items() <= line.items()


def test_the_line_of_the_sweep_alone_names_its_call(newsroom: Newsroom, lines: Lines) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.step()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE batch SET state = 'sending', owner = gen_random_uuid(), attempt = %s,"
            " lease_until = clock_timestamp() - interval '1 s', sent = 0, waiting = size",
            [newsroom.attempts(edition)[0].pk],
        )
        cursor.execute(
            "UPDATE delivery SET outcome = 'waiting', sent_at = NULL,"
            " provider_message_id = NULL, evidence = ''"
        )
    log_context.bind(**dict.fromkeys(log_context.IDS))
    newsroom.recover_expired_leases()

    (line,) = [line for line in lines() if line["logger"] == "delivery.queue.lease_reaper"]
    assert ids_of(newsroom, edition).items() <= line.items()
    assert log_context.bound() == {}


def test_the_line_of_a_broken_step_names_its_call(newsroom: Newsroom, lines: Lines) -> None:
    edition = newsroom.publish(readers=2)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE delivery ADD CONSTRAINT closed CHECK (false) NOT VALID")
    try:
        worker = Worker(1, is_awaited=True)
        worker.run(until=lambda: any("a step failed" in line["event"] for line in lines()))
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE delivery DROP CONSTRAINT closed")

    line = next(line for line in lines() if "a step failed" in line["event"])
    assert (ids_of(newsroom, edition) | {"worker": worker.id.hex}).items() <= line.items()
    assert line["error"].endswith("CheckViolation 23514 closed")
    assert "reader" not in line["error"]
