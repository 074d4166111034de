"""Kill at every crash point and compare: `python -m tests.crash_points [--pairs]`.

The command creates a separate database. With `--serve` the command uses the database of
DATABASE_URL and deletes everything in it. With `--serve` the command also reads the names of
scenarios from stdin and plays them in one warm process. Its answer to a name is a line of JSON.
Exit code 1: a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from operator import attrgetter
from typing import TYPE_CHECKING

from newsletter_site.embedded_postgres import database_url
from tests.crash_points.points import Point
from tests.crash_points.provider import Provider
from tests.long_runs.clean_environment import clean_environment
from tests.postgres_cluster import KeptCluster

if TYPE_CHECKING:
    from tests.crash_points.crash_runner import Ending, ScenarioRunner
    from tests.crash_points.scenarios import Scenario


def main() -> int:
    """Play the chosen scenarios; print failures and counts."""
    chosen = _options().parse_args()
    with ExitStack() as stack:
        if not chosen.serve:
            clean_environment()
            cluster = KeptCluster()
            cluster.start()
            stack.callback(cluster.end)
            os.environ["DATABASE_URL"] = database_url(cluster.data_dir, "postgres")
        provider = Provider(chosen.provider)
        stack.callback(provider.end)
        # Set these variables first, because Django reads its settings only once.
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.crash_points.settings"
        os.environ.update(provider.environment)
        import django

        django.setup()
        from tests.crash_points.crash_runner import ScenarioRunner
        from tests.crash_points.scenarios import named, of_provider
        from tests.database.template import copied_database

        if not chosen.serve:
            stack.enter_context(copied_database())
        runner = ScenarioRunner(provider)
        stack.callback(runner.end)
        dice = random.Random(chosen.seed)
        player = Player(chosen.provider, runner, dice, chosen.at_most_s)
        scenarios = [named(chosen.scenario)] if chosen.scenario else of_provider(chosen.provider)
        if chosen.serve:
            for line in sys.stdin:
                player.tally.clear()
                player.output.clear()
                player.singly(named(line.strip()), every=False)
                print(json.dumps({**player.tally, "output": player.output}), flush=True)
            return 0
        if chosen.point is not None:
            kills = (chosen.point, *chosen.then)
            ending = player.play(scenarios[0], kills, counts_as_sent=chosen.count_as_sent)
            print(*(f"killed at {point}" for point in ending.fell_at), ending.world, sep="\n")
        else:
            for scenario in scenarios:
                player.singly(scenario, every=chosen.pairs)
            if chosen.pairs:
                player.in_pairs(scenarios)
        print(dict(player.tally))
        return 1 if player.tally["failures"] else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.crash_points", description=__doc__)
    parser.add_argument("--provider", choices=("postmark", "django", "amazon"), default="postmark")
    parser.add_argument("--scenario", metavar="NAME", help="only this scenario")
    parser.add_argument("--pairs", action="store_true", help="every point, then pairs of them")
    parser.add_argument("--point", type=int, help="only this point; print the state that it leaves")
    parser.add_argument("--then", type=int, nargs=1, default=(), help="kill the recovery here too")
    parser.add_argument(
        "--count-as-sent", action="store_true", help="with --point: count unconfirmed as sent"
    )
    parser.add_argument("--seed", type=int, default=1789, help="seed of all choices (1789)")
    parser.add_argument("--at-most-s", type=float, default=3000.0, help="seconds for pairs (3000)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    return parser


class Player:
    """Plays scenarios up to their points, counts the runs and reports failures."""

    def __init__(
        self, provider: str, runner: ScenarioRunner, dice: random.Random, at_most_s: float
    ) -> None:
        self.tally: Counter[str] = Counter()
        self.output: list[str] = []
        self._provider, self._runner, self._dice = provider, runner, dice
        self._at_most_s = at_most_s

    def singly(self, scenario: Scenario, *, every: bool) -> None:
        """Kill the scenario at each point, or at one point of each world.

        The operator resends unconfirmed copies, or counts them as sent. With `every`, each point is
        played with both decisions; otherwise, they alternate from world to world.
        """
        points = self.play(scenario, (None,)).points
        worlds: dict[int, str] = {}
        for point in points if every else self._one_of_each_world(points):
            counts_as_sent = not every and point.world % 2 == 1
            ending = self.play(scenario, (point.number,), counts_as_sent=counts_as_sent)
            self.tally["points"] += 1
            # All points of a world must end in the same state, because other tests play only one.
            if worlds.setdefault(point.world, ending.world) != ending.world:
                self._failed(scenario, ending, ["two points of one world left different states"])
            if every and ending.was_resent:
                self.play(scenario, (point.number,), counts_as_sent=True)
                self.tally["points"] += 1

    def in_pairs(self, scenarios: Sequence[Scenario]) -> None:
        """Kill scenarios and then their recoveries, once in each world, until time is up."""
        firsts = [
            (scenario, first.number)
            for scenario in scenarios
            for first in self._one_of_each_world(self.play(scenario, (None,)).points)
        ]
        self._dice.shuffle(firsts)
        until_s = time.monotonic() + self._at_most_s
        for scenario, first in firsts:
            for second in self._one_of_each_world(self.play(scenario, (first, None)).points):
                if time.monotonic() > until_s:
                    return
                self.play(scenario, (first, second.number))
                self.tally["pairs"] += 1

    def play(
        self, scenario: Scenario, kills: tuple[int | None, ...], *, counts_as_sent: bool = False
    ) -> Ending:
        """Play the scenario once with these kills; report failures."""
        ending = self._runner.run(scenario, kills, counts_as_sent=counts_as_sent)
        self.tally["kills"] += len(ending.fell_at)
        if ending.breaches:
            self._failed(scenario, ending, ending.breaches, counts_as_sent=counts_as_sent)
        return ending

    def _one_of_each_world(self, points: list[Point]) -> list[Point]:
        shuffled = self._dice.sample(points, len(points))
        return sorted({one.world: one for one in shuffled}.values(), key=attrgetter("number"))

    def _failed(
        self,
        scenario: Scenario,
        ending: Ending,
        breaches: list[str],
        *,
        counts_as_sent: bool = False,
    ) -> None:
        self.tally["failures"] += 1
        numbers = [str(point.number) for point in ending.fell_at]
        again = " ".join(
            " ".join(pair) for pair in zip(("--point", "--then"), numbers, strict=False)
        )
        options = f"--provider {self._provider} --scenario {scenario.name}"
        if counts_as_sent:
            options += " --count-as-sent"
        lines = [
            f"FAILED {scenario.name}, {'killed at' if numbers else 'played to its end'}",
            *(f"  {point}" for point in ending.fell_at),
            *(f"  -> {breach}" for breach in dict.fromkeys(breaches)),
            f"  again: python -m tests.crash_points {options} {again}",
        ]
        self.output += lines
        print(*lines, sep="\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
