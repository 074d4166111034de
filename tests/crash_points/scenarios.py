"""The stories that are played up to each of their points. Each is small, so its points are few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from delivery.queue.control import resume
from tests.crash_points.hands import Hands

Fault = tuple[str, dict[str, Any]]

# Past the first look-up of this theatre's settings, and past the second.
FIRST_LOOK_UP_S = 130.0
LATER_S = 2000.0


@dataclass(frozen=True)
class Scenario:
    """
    A story: what the provider does wrong, and what everybody does.

    The edition has been published before it begins, unless `is_published` is false. In the end
    everyone has one copy, unless `leaves_out` says that some may rightly have none.
    """

    name: str
    play: Callable[[Hands], None]
    faults: tuple[Fault, ...] = ()
    readers: int = 5
    is_published: bool = True
    leaves_out: frozenset[str] = field(default_factory=frozenset)


def _publishing(hands: Hands) -> None:
    hands.publish()


def _delivery(hands: Hands) -> None:
    hands.work()


def _then_asked(hands: Hands) -> None:
    hands.work()
    hands.time_passes(FIRST_LOOK_UP_S)
    hands.work()


def _asked_twice_and_sent_again(hands: Hands) -> None:
    hands.work()
    for _ in range(2):
        hands.time_passes(FIRST_LOOK_UP_S)
        hands.work()
    hands.time_passes(LATER_S)
    hands.work()


def _lost_before_the_call(hands: Hands) -> None:
    hands.a_worker_is_lost(before_its_call=True)
    hands.time_passes(LATER_S)
    hands.work()


def _lost_in_the_call(hands: Hands) -> None:
    hands.a_worker_is_lost(before_its_call=False)
    hands.time_passes(LATER_S)
    hands.work()


def _stop_and_resume(hands: Hands) -> None:
    hands.work()
    hands.the_fault_is_put_right()
    resume(hands.the_edition.pk)
    hands.work()


SCENARIOS = (
    Scenario("publishing", _publishing, is_published=False),
    Scenario("delivery", _delivery),
    Scenario(
        "reply-lost",
        _then_asked,
        faults=(("accept_then_close", {"calls": 1}),),
    ),
    Scenario(
        "refused-for-now",
        _then_asked,
        faults=(("refuse_429", {"calls": 1}),),
    ),
    Scenario(
        "accepted-in-part",
        _asked_twice_and_sent_again,
        faults=(("accept_first_k_then_close", {"k": 1, "calls": 1}),),
        readers=3,
    ),
    Scenario("lost-before-the-call", _lost_before_the_call, readers=3),
    Scenario("lost-in-the-call", _lost_in_the_call, readers=3),
    Scenario(
        "account-fault",
        _stop_and_resume,
        faults=(("whole_422", {"code": 405, "calls": None}),),
    ),
)


def named(name: str) -> Scenario:
    """The scenario of this name. Raises `LookupError` with the names there are."""
    for scenario in SCENARIOS:
        if scenario.name == name:
            return scenario
    known = ", ".join(scenario.name for scenario in SCENARIOS)
    raise LookupError(f"There is no scenario '{name}'. Known: {known}.")
