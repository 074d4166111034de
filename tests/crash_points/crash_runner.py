"""Play and kill scenarios. The runner forks, so it must have no threads."""

import gc
import os
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import override_settings

from delivery.models import Edition, Newsletter
from delivery.reconcile import database_identity
from publishing.models import Issue
from tests.crash_points import promises_kept
from tests.crash_points.actions import Hands, Stage
from tests.crash_points.points import Point, listen_to_calls, watch
from tests.crash_points.provider import Provider
from tests.crash_points.recovery_after_crash import recover
from tests.crash_points.scenarios import Scenario
from tests.database.template import SEEDS
from tests.delivery.edition_factory import Newsroom

# No scenario waits, so an action that takes this long is stuck.
LONGEST_ACT_S = 60
# A session holds this lock while it lives: getting the lock proves that the session has ended.
ALIVE = 180926

Act = Callable[[Hands], None]


@dataclass
class Ending:
    """The result of one run. `fell_at` has the points at which processes were killed.

    `was_resent`: the operator decided to resend unconfirmed copies.
    """

    fell_at: list[Point]
    points: list[Point]
    breaches: list[str]
    world: str = ""
    was_resent: bool = False


class ScenarioRunner:
    """One database and one provider, on which scenarios run one after another."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        gc.freeze()
        self._survivor = _Survivor(provider)

    def run(
        self,
        scenario: Scenario,
        kills: tuple[int | None, ...],
        *,
        counts_as_sent: bool = False,
    ) -> Ending:
        """Run a scenario and kill it at `kills[0]`, then its recovery at `kills[1]`, ….

        The last recovery is not killed. If a kill is None, the scenario plays to its end and its
        points are numbered. The result lists every broken promise.
        """
        stage = self._survivor.ask("prepare", scenario, counts_as_sent)
        ending = Ending([], [], [])
        for act, fatal in zip((scenario.play, *[recover] * len(kills)), kills, strict=False):
            fell_at = self._play(scenario, act, stage, fatal, ending)
            if fatal is not None and fell_at is None and not ending.breaches:
                ending.breaches.append(f"point {fatal} was not reached")
            found, ending.world = self._survivor.ask("look")
            ending.breaches += found
        found, ending.was_resent = self._survivor.ask("finish", scenario, len(ending.fell_at))
        ending.breaches += found
        return ending

    def _play(
        self, scenario: Scenario, act: Act, stage: Stage, fatal: int | None, ending: Ending
    ) -> Point | None:
        ours, theirs = Pipe(duplex=False)
        child = os.fork()
        if child == 0:
            with override_settings(**dict(scenario.settings)):
                _perform(act, stage, self._provider, fatal, theirs)
        theirs.close()
        fell_at = None
        with ours:
            try:
                if not ours.poll(LONGEST_ACT_S):
                    ending.breaches.append(f"nothing more happened for {LONGEST_ACT_S} s")
                    os.kill(child, signal.SIGKILL)
                else:
                    message = ours.recv()
                    if isinstance(message, Point):
                        fell_at = message
                        ending.fell_at.append(message)
                        # The proxy kills the child. When the child dies, its end of the pipe
                        # closes.
                        ours.poll(LONGEST_ACT_S)
                    elif isinstance(message, str):
                        ending.breaches.append(message)
                    else:
                        ending.points = message
            except EOFError:
                ending.breaches.append("it ended without a message")
        _, status = os.waitpid(child, 0)
        if fell_at is not None and not (
            os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        ):
            ending.breaches.append(f"it should be killed at {fell_at}, but ended with {status}")
        return fell_at

    def end(self) -> None:
        self._survivor.ask("leave")


def _perform(
    act: Act, stage: Stage, provider: Provider, fatal: int | None, message: Connection
) -> None:
    """Play in the child, to the end or to the fatal point. Never returns."""
    try:
        listen_to_calls(lambda pid: provider.ask("kill_when_answered", pid))
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [ALIVE])
        hands = Hands(stage, provider)
        watch.begin(fatal, message.send)
        act(hands)
        message.send(watch.passed)
    except BaseException:  # noqa: BLE001 -- sent to the parent
        message.send(traceback.format_exc())
    finally:
        os._exit(0)


class _Survivor:
    """The process that is never killed: it prepares, recovers and checks a scenario."""

    def __init__(self, provider: Provider) -> None:
        self._line, theirs = Pipe()
        if os.fork() == 0:
            self._line.close()
            _SurvivorProcess(provider).serve(theirs)
        theirs.close()

    def ask(self, question: str, *arguments: Any) -> Any:
        self._line.send((question, arguments))
        if not self._line.poll(LONGEST_ACT_S):
            raise TimeoutError(f"the survivor did not answer to {question!r}")
        went_well, answer = self._line.recv()
        if not went_well:
            raise RuntimeError(answer)
        return answer


class _SurvivorProcess:
    """The methods of the survivor, one for each question that the parent asks."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._stage: Stage | None = None
        self._cancelled_with: promises_kept.Accepted | None = None

    def serve(self, line: Connection) -> None:
        """Answer the parent's questions until the parent has ended. Never returns."""
        try:
            while True:
                question, arguments = line.recv()
                try:
                    line.send((True, getattr(self, question)(*arguments)))
                except Exception:  # noqa: BLE001 -- sent to the parent
                    line.send((False, traceback.format_exc()))
        except (EOFError, OSError):
            os._exit(0)

    def prepare(self, scenario: Scenario, counts_as_sent: bool) -> Stage:
        _empty()
        # Record the database's identity, as on every site where a worker has run.
        database_identity.check_identity()
        # The admin's log names the content type. Create this type now, so that earlier scenarios
        # do not change the number of statements.
        ContentType.objects.clear_cache()
        ContentType.objects.get_for_model(Issue)
        newsroom = Newsroom()
        newsroom.confirm(scenario.readers)
        self._provider.ask("begin", list(scenario.faults))
        self._cancelled_with = None
        self._stage = Stage(
            newsroom.author.pk,
            scenario.readers,
            scenario.hold_s,
            scenario.one_machine,
            counts_as_sent,
        )
        if scenario.is_published:
            publisher = Hands(self._stage, self._provider)
            publisher.publish()
            publisher.close()
        return self._stage

    def look(self) -> tuple[list[str], str]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [ALIVE])
            cursor.execute("SELECT pg_advisory_unlock(%s)", [ALIVE])
        accepted = self._provider.ask("accepted")
        if Edition.objects.filter(control=Edition.Control.CANCELLED).exists():
            self._cancelled_with = accepted
        decided = self._provider.ask("decided")
        return list(promises_kept.always(accepted, decided)), promises_kept.world(accepted)

    def finish(self, scenario: Scenario, kills: int) -> tuple[list[str], bool]:
        assert self._stage is not None
        with override_settings(**dict(scenario.settings)):
            hands = Hands(self._stage, self._provider)
            try:
                recover(hands)
            except Exception:  # noqa: BLE001 -- whatever it is, it is what is wrong
                return [traceback.format_exc()], False
            hands.close()
            accepted, decided = self._provider.ask("accepted"), self._provider.ask("decided")
            found = list(promises_kept.in_the_end(hands, accepted, decided, scenario.leaves_out))
            found += promises_kept.few_unconfirmed(decided, scenario.lost_calls + kills)
        if self._cancelled_with not in (None, accepted):
            found.append("copies were accepted after the edition was seen cancelled")
        return found, bool(decided["resent"])

    def leave(self) -> None:
        _empty()


def _empty() -> None:
    """Reset the database to its state after the migrations."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {SEEDS}.clean()")
        # An emptied table has no statistics, so a restored database always has a table to analyse.
        cursor.execute("TRUNCATE django_session")
    # The first code that reads the newsletter's row creates it. Create the row now, so that the
    # first run of a scenario has no more statements than later runs.
    Newsletter.objects.get_current()
