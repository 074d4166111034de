"""The small scenarios; tests kill a worker at each of a scenario's crash points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from delivery.models import Edition
from delivery.queue import edition_control
from delivery.reconcile import database_identity
from tests.crash_points.actions import Hands
from tests.crash_points.points import watch

Fault = tuple[str, dict[str, Any]]
Step = Callable[[Hands], object]


@dataclass(frozen=True)
class Scenario:
    """A scenario: the actions, and the provider's faults.

    The edition is published before the scenario begins, unless `is_published` is false. At the end
    every reader has one copy. Only readers with an outcome in `leaves_out` may have no copy.
    `settings` are Django settings for this scenario. With `one_machine` a dead process is noticed
    at once. `lost_calls` is the number of calls without a result, even if nothing is killed. A
    scenario that `needs_postmark` has reports, searches or a record, which SMTP does not have.
    """

    name: str
    steps: tuple[Step, ...]
    faults: tuple[Fault, ...] = ()
    readers: int = 5
    is_published: bool = True
    hold_s: float = 0.0
    leaves_out: frozenset[str] = frozenset()
    settings: tuple[tuple[str, Any], ...] = ()
    one_machine: bool = False
    lost_calls: int = 0
    needs_postmark: bool = False

    def play(self, hands: Hands) -> None:
        for step in self.steps:
            step(hands)


work, step = Hands.work, Hands.step


def asked(hands: Hands) -> None:
    """Let time pass until the first look-up is due."""
    hands.time_passes(130.0)


def later(hands: Hands) -> None:
    """Let more time pass than any look-up, lease or pause takes."""
    hands.time_passes(2000.0)


def the_search_catches_up(hands: Hands) -> None:
    hands.ask_provider("search_catches_up")


def a_webhook_comes_first(hands: Hands) -> None:
    hands.before_the_next_answer_is_read(hands.webhooks_arrive_for_every_copy)


def one_wakes_up_in_the_next_call(hands: Hands) -> None:
    """Resume a frozen worker while another worker makes a call with the same batch."""
    lost = hands.a_worker_is_lost_in_its_call()
    later(hands)
    hands.before_the_next_answer_is_read(lambda: hands.record_a_late_refusal(lost))


def notice(hands: Hands) -> None:
    """Let a worker notice that the database was restored."""
    database_identity.check_identity()


def pause(hands: Hands) -> None:
    edition_control.pause(hands.the_edition.pk)


def sends_nothing(hands: Hands) -> None:
    accepted = hands.ask_provider("accepted")
    hands.work()
    assert hands.ask_provider("accepted") == accepted, "a paused edition was sent"


def fix_faults(hands: Hands) -> None:
    hands.ask_provider("fix_faults")


def resume(hands: Hands) -> None:
    edition_control.resume(hands.the_edition.pk)


def cancel(hands: Hands) -> None:
    edition_control.cancel(hands.the_edition.pk)


def call_back(hands: Hands) -> None:
    assert edition_control.call_back(hands.the_edition.pk) == hands.stage.readers


def send_now(hands: Hands) -> None:
    edition_control.send_now(hands.the_edition.pk)


def somebody_is_missed(hands: Hands) -> None:
    """Lose the workers that hold a batch of one copy, until the batch is parked."""
    with watch.not_counted():
        for _ in range(2):
            hands.a_worker_is_lost_before_its_call()
            later(hands)
            hands.watch_over_the_queue()
        assert hands.counts().missed == 1


def send_to_missed(hands: Hands) -> None:
    edition_control.send_to_missed(hands.the_edition.pk, batch_size=settings.DELIVERY_BATCH_SIZE)


def close(hands: Hands) -> None:
    assert edition_control.close(hands.the_edition.pk)


def doubt_is_parked(hands: Hands) -> None:
    with watch.not_counted():
        hands.work()
        for _ in range(2):
            later(hands)
            hands.work()
        assert hands.counts().parked_batches == 1


def ask_again(hands: Hands) -> None:
    edition_control.ask_again(hands.the_edition.pk, silences=1)


def is_a_welcome_letter(hands: Hands) -> None:
    """Turn the edition into a welcome letter, which Homing itself never does."""
    with watch.not_counted(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        Edition.objects.update(kind=Edition.Kind.WELCOME)


LOSES_THE_REPLY: Fault = ("accept_then_close", {"calls": 1})
ACCEPTS_ONE: Fault = ("accept_first_k_then_close", {"k": 1, "calls": 1})
REFUSES: Fault = ("refuse_429", {"calls": 1})
LAGS: Fault = ("search_delay", {"seconds": 3600})
NO_CREDITS: Fault = ("whole_422", {"code": 405, "calls": None})
WITHDRAWN = frozenset({"withdrawn"})
RESTORED = Hands.a_backup_is_restored_that_lacks_a_call

SCENARIOS = (
    Scenario("publishing", (Hands.publish,), is_published=False),
    Scenario("delivery", (work,)),
    Scenario("delivery-on-one-machine", (work,), one_machine=True),
    Scenario("welcome-letter", (is_a_welcome_letter, work), readers=1),
    Scenario("reply-lost", (work, asked, work), (LOSES_THE_REPLY,), 3, lost_calls=1),
    Scenario("cancel-on-one-machine", (step, cancel), leaves_out=WITHDRAWN, one_machine=True),
    Scenario("refused-for-now", (work, asked, work), (REFUSES,), 3),
    Scenario(
        "accepted-in-part",
        (work, asked, work, asked, work, later, work),
        (ACCEPTS_ONE,),
        3,
        lost_calls=1,
    ),
    Scenario(
        "search-lags",
        (work, asked, work, the_search_catches_up, later, work),
        (LOSES_THE_REPLY, LAGS),
        3,
        needs_postmark=True,
    ),
    Scenario(
        "lost-before-its-call", (Hands.a_worker_is_lost_before_its_call, later, work), readers=3
    ),
    Scenario(
        "lost-in-its-call",
        (Hands.a_worker_is_lost_in_its_call, later, work),
        readers=3,
        lost_calls=1,
    ),
    Scenario("wakes-up-late", (one_wakes_up_in_the_next_call, work), readers=3, lost_calls=1),
    Scenario(
        "webhook-instead-of-the-reply",
        (work, Hands.webhooks_arrive_for_every_copy, work),
        (LOSES_THE_REPLY,),
        2,
        needs_postmark=True,
    ),
    Scenario(
        "webhook-before-the-reply", (a_webhook_comes_first, work), readers=2, needs_postmark=True
    ),
    # In this scenario the provider has a call that the restored database does not have.
    Scenario(
        "restored-backup",
        (RESTORED, work, notice, later, Hands.reconcile, work),
        needs_postmark=True,
    ),
    Scenario("account-fault", (work, fix_faults, resume, work), (NO_CREDITS,)),
    Scenario("pause-and-resume", (step, pause, sends_nothing, resume, work)),
    Scenario("cancel", (step, cancel, work), leaves_out=WITHDRAWN),
    Scenario(
        "cancel-in-doubt",
        (step, cancel, later, work),
        (ACCEPTS_ONE,),
        4,
        leaves_out=WITHDRAWN,
        lost_calls=1,
    ),
    Scenario("call-back", (call_back, work), hold_s=600.0, leaves_out=WITHDRAWN),
    Scenario("send-now", (send_now, work), hold_s=600.0, readers=2),
    Scenario("send-to-missed", (somebody_is_missed, send_to_missed, work), readers=1),
    Scenario("close", (somebody_is_missed, close), readers=1, leaves_out=frozenset({"failed"})),
    Scenario(
        "ask-again-and-send",
        (doubt_is_parked, ask_again, later, work, Hands.resend_unknown, work),
        (("bad_gateway_502_html", {"calls": 1}),),
        readers=2,
        settings=(("DELIVERY_UNKNOWN_POLICY", "hold"),),
        lost_calls=1,
    ),
)


def of_provider(provider: str) -> list[Scenario]:
    """Return the scenarios that a provider can play."""
    return [one for one in SCENARIOS if provider == "postmark" or not one.needs_postmark]


def named(name: str) -> Scenario:
    return {scenario.name: scenario for scenario in SCENARIOS}[name]
