"""What a worker does next, and what the database's own trouble does not cost."""

from __future__ import annotations

import threading
import uuid

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from delivery.dispatch import Dispatcher, Timing, policy_from_settings, postmark_from_settings
from delivery.models import Delivery, Edition
from postmark_sandbox.server import SandboxServer
from tests.delivery.hands_on_an_edition import unheard
from tests.delivery.newsroom import Newsroom, steady_dice
from tests.delivery.test_starting_a_call import a_call_held_by


def one_in_doubt_and_one_in_line(
    newsroom: Newsroom, provider: SandboxServer
) -> tuple[Edition, Edition]:
    """An edition whose look-up is due, and another whose call is."""
    doubtful = unheard(newsroom, provider, 2)
    newsroom.let_time_pass(61)
    return doubtful, newsroom.publish()


def dispatcher(look_ups: threading.Lock) -> Dispatcher:
    """One thread's hands; `look_ups` is shared with the other threads of its worker."""
    return Dispatcher(
        uuid.uuid4(),
        postmark_from_settings(),
        timing=Timing.from_settings(),
        policy=policy_from_settings(),
        roll=steady_dice,
        look_ups=look_ups,
    )


def test_while_one_thread_looks_up_the_others_go_on_sending_and_leave_doubt_to_it(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    doubtful, in_line = one_in_doubt_and_one_in_line(newsroom, provider)
    look_ups = threading.Lock()
    other_thread = dispatcher(look_ups)
    with look_ups:
        while other_thread.step():
            pass
    assert newsroom.outcomes(in_line) == ["sent"] * 2
    assert newsroom.outcomes(doubtful) == ["unknown"] * 2
    assert other_thread.step()
    assert newsroom.outcomes(doubtful) == ["sent"] * 2


def test_calls_and_look_ups_take_turns(
    newsroom: Newsroom, provider: SandboxServer, settings: object
) -> None:
    settings.DELIVERY_BATCH_SIZE = 1  # type: ignore[attr-defined]
    doubtful, in_line = one_in_doubt_and_one_in_line(newsroom, provider)
    hands = dispatcher(threading.Lock())
    hands.step()
    hands.step()
    # Neither has to wait until there is nothing left of the other.
    assert "sent" in newsroom.outcomes(in_line)
    assert "unknown" not in newsroom.outcomes(doubtful)
    assert "waiting" in newsroom.outcomes(in_line)


def test_an_answer_is_not_lost_when_the_line_to_the_database_was_cut_during_the_call(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=2)
    with a_call_held_by(provider, newsroom, "after_accept"), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert cursor.fetchall() == [(True,)]
    assert newsroom.outcomes(edition) == ["sent"] * 2
    assert set(Delivery.objects.values_list("evidence", flat=True)) == {"reply"}


@pytest.mark.parametrize("given", ["0", "65", "many"])
def test_a_concurrency_out_of_range_is_refused_with_one_sentence(given: str) -> None:
    sentence = f"--concurrency is '{given}'; expected a whole number from 1 to 64."
    with pytest.raises(CommandError, match=sentence):
        call_command("deliver", "--concurrency", given)
