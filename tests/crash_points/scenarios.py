"""The stories that are played up to each of their points. Each is small, so its points are few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from delivery.queue import control, identity
from tests.crash_points.hands import Hands
from tests.crash_points.points import watch

Fault = tuple[str, dict[str, Any]]

# Past the first look-up of this theatre's settings; past every look-up, lease and pause.
UNTIL_ASKED_S = 130.0
LATER_S = 2000.0


@dataclass(frozen=True)
class Scenario:
    """
    A story: what the provider does wrong, and what everybody does.

    The edition has been published before it begins, unless `is_published` is false. In the end
    everyone has one copy, unless `leaves_out` names outcomes with which some may rightly have none.
    `settings` are Django's, for this story.
    """

    name: str
    play: Callable[[Hands], None]
    faults: tuple[Fault, ...] = ()
    readers: int = 5
    is_published: bool = True
    hold_s: float = 0.0
    leaves_out: frozenset[str] = frozenset()
    settings: tuple[tuple[str, Any], ...] = ()


# --- Calls and their ends -------------------------------------------------------------------------


def _publishing(hands: Hands) -> None:
    hands.publish()


def _delivery(hands: Hands) -> None:
    hands.work()


def _then_asked(hands: Hands) -> None:
    hands.work()
    hands.time_passes(UNTIL_ASKED_S)
    hands.work()


def _asked_twice_and_sent_again(hands: Hands) -> None:
    hands.work()
    for _ in range(2):
        hands.time_passes(UNTIL_ASKED_S)
        hands.work()
    hands.time_passes(LATER_S)
    hands.work()


def _the_search_lags(hands: Hands) -> None:
    hands.work()
    hands.time_passes(UNTIL_ASKED_S)
    hands.work()
    hands.tell_the_provider("search_catches_up")
    hands.time_passes(LATER_S)
    hands.work()


# --- Other workers --------------------------------------------------------------------------------


def _lost_before_its_call(hands: Hands) -> None:
    hands.a_worker_is_lost_before_its_call()
    hands.time_passes(LATER_S)
    hands.work()


def _lost_in_its_call(hands: Hands) -> None:
    hands.a_worker_is_lost_in_its_call()
    hands.time_passes(LATER_S)
    hands.work()


def _wakes_up_late(hands: Hands) -> None:
    """One that was frozen in its call wakes up while its batch is in another's call."""
    lost = hands.a_worker_is_lost_in_its_call()
    hands.time_passes(LATER_S)
    hands.before_the_next_answer_is_read(lambda: hands.it_wakes_up_with_a_refusal(lost))
    hands.work()


# --- Webhooks -------------------------------------------------------------------------------------


def _told_of_it_instead(hands: Hands) -> None:
    hands.work()
    hands.the_provider_tells_of_every_copy()
    hands.work()


def _told_of_it_first(hands: Hands) -> None:
    hands.before_the_next_answer_is_read(hands.the_provider_tells_of_every_copy)
    hands.work()


# --- A restored backup ----------------------------------------------------------------------------


def _restored(hands: Hands) -> None:
    """A call that the restored record does not know of is found at the provider."""
    hands.a_backup_is_restored_that_lacks_a_call()
    hands.work()
    identity.notice()
    hands.time_passes(LATER_S)
    hands.reconcile()
    hands.work()


# --- What people decide ---------------------------------------------------------------------------


def _stop_and_resume(hands: Hands) -> None:
    hands.work()
    hands.tell_the_provider("set_right")
    control.resume(hands.the_edition.pk)
    hands.work()


def _pause_and_resume(hands: Hands) -> None:
    hands.step()
    control.pause(hands.the_edition.pk)
    accepted = hands.tell_the_provider("accepted")
    hands.work()
    assert hands.tell_the_provider("accepted") == accepted, "a paused edition was sent"
    control.resume(hands.the_edition.pk)
    hands.work()


def _cancel(hands: Hands) -> None:
    hands.step()
    control.cancel(hands.the_edition.pk)
    hands.work()


def _cancel_in_doubt(hands: Hands) -> None:
    hands.step()
    control.cancel(hands.the_edition.pk)
    hands.time_passes(LATER_S)
    hands.work()


def _call_back(hands: Hands) -> None:
    assert control.call_back(hands.the_edition.pk) == hands.stage.readers
    hands.work()


def _send_now(hands: Hands) -> None:
    control.send_now(hands.the_edition.pk)
    hands.work()


def _somebody_is_missed(hands: Hands) -> None:
    """The copy is alone in its batch, and workers were lost with it until it was parked."""
    with watch.looking_away():
        for _ in range(2):
            hands.a_worker_is_lost_before_its_call()
            hands.time_passes(LATER_S)
            hands.watch_over_the_queue()
        assert hands.books().missed == 1


def _send_to_missed(hands: Hands) -> None:
    _somebody_is_missed(hands)
    control.send_to_missed(hands.the_edition.pk, most=settings.DELIVERY_BATCH_SIZE)
    hands.work()


def _close(hands: Hands) -> None:
    _somebody_is_missed(hands)
    assert control.close(hands.the_edition.pk)


def _ask_again_and_send(hands: Hands) -> None:
    with watch.looking_away():
        hands.work()
        for _ in range(2):
            hands.time_passes(LATER_S)
            hands.work()
        assert hands.books().parked == 1
    control.ask_again(hands.the_edition.pk, silences=1)
    hands.time_passes(LATER_S)
    hands.work()
    control.send_doubtful(hands.the_edition.pk)
    hands.work()


LOSES_THE_REPLY: Fault = ("accept_then_close", {"calls": 1})
ACCEPTS_ONE: Fault = ("accept_first_k_then_close", {"k": 1, "calls": 1})
WITHDRAWN = frozenset({"withdrawn"})

SCENARIOS = (
    Scenario("publishing", _publishing, is_published=False),
    Scenario("delivery", _delivery),
    Scenario("reply-lost", _then_asked, faults=(LOSES_THE_REPLY,), readers=3),
    Scenario("refused-for-now", _then_asked, faults=(("refuse_429", {"calls": 1}),), readers=3),
    Scenario("accepted-in-part", _asked_twice_and_sent_again, faults=(ACCEPTS_ONE,), readers=3),
    Scenario(
        "search-lags",
        _the_search_lags,
        faults=(LOSES_THE_REPLY, ("search_delay", {"seconds": 3600})),
        readers=3,
    ),
    Scenario("lost-before-its-call", _lost_before_its_call, readers=3),
    Scenario("lost-in-its-call", _lost_in_its_call, readers=3),
    Scenario("wakes-up-late", _wakes_up_late, readers=3),
    Scenario("webhook-instead-of-the-reply", _told_of_it_instead, (LOSES_THE_REPLY,), readers=2),
    Scenario("webhook-before-the-reply", _told_of_it_first, readers=2),
    Scenario("restored-backup", _restored),
    Scenario("account-fault", _stop_and_resume, (("whole_422", {"code": 405, "calls": None}),)),
    Scenario("pause-and-resume", _pause_and_resume),
    Scenario("cancel", _cancel, leaves_out=WITHDRAWN),
    Scenario("cancel-in-doubt", _cancel_in_doubt, (ACCEPTS_ONE,), 4, leaves_out=WITHDRAWN),
    Scenario("call-back", _call_back, hold_s=600.0, leaves_out=WITHDRAWN),
    Scenario("send-now", _send_now, hold_s=600.0, readers=2),
    Scenario("send-to-missed", _send_to_missed, readers=1),
    Scenario("close", _close, readers=1, leaves_out=frozenset({"failed"})),
    Scenario(
        "ask-again-and-send",
        _ask_again_and_send,
        faults=(("bad_gateway_502_html", {"calls": 1}),),
        readers=2,
        settings=(("DELIVERY_UNKNOWN_POLICY", "hold"),),
    ),
)


def named(name: str) -> Scenario:
    """The scenario of this name. Raises `LookupError` with the names there are."""
    for scenario in SCENARIOS:
        if scenario.name == name:
            return scenario
    known = ", ".join(scenario.name for scenario in SCENARIOS)
    raise LookupError(f"There is no scenario '{name}'. Known: {known}.")
