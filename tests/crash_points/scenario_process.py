"""Player that runs scenarios up to each of their crash points.

`python -m tests.crash_points.scenario_process` uses the database that DATABASE_URL names, and
deletes everything in it. It reads lines with the name of a scenario and a seed, and answers each
with a line of JSON: the counts and the failures. So one warm process plays them all.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING

from tests.crash_points.points import Point
from tests.crash_points.provider import Provider

if TYPE_CHECKING:
    from tests.crash_points.crash_runner import Ending, ScenarioRunner
    from tests.crash_points.scenarios import Scenario

SAYS_SOMETHING_EVERY_S = 10.0


@contextmanager
def begun(*, own_database: bool) -> Iterator[ScenarioRunner]:
    """Set up a runner on a copy of the template or on the environment's database.

    Settings are read here, once. The process must not connect to the database before it forks.
    """
    provider = Provider()
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.crash_points.settings"
    os.environ["POSTMARK_BASE_URL"] = provider.url
    import django

    django.setup()
    from tests.crash_points.crash_runner import ScenarioRunner
    from tests.database.template import copied_database

    with ExitStack() as stack:
        stack.callback(provider.end)
        if own_database:
            stack.enter_context(copied_database())
        runner = ScenarioRunner(provider)
        stack.callback(runner.end)
        yield runner


class Player:
    """Player of the points of scenarios. `share`: its part, and the number of parts."""

    def __init__(
        self,
        runner: ScenarioRunner,
        *,
        share: tuple[int, int] = (0, 1),
        until_s: float = float("inf"),
    ) -> None:
        self.tally: Counter[str] = Counter()
        self.output: list[str] = []
        self._runner = runner
        self._share = share
        self._until_s = until_s
        self._last_said = time.monotonic()

    def singly(self, scenario: Scenario, *, seed: int | None = None) -> None:
        """Kill the scenario at each point, or at one point of each world.

        The points of one world are the same for every other process. `seed` chooses the point.
        """
        points = self._points(scenario, ())
        chosen = points if seed is None else _one_of_each_world(points, random.Random(seed))
        worlds: dict[int, str] = {}
        mine = chosen[self._share[0] :: self._share[1]]
        for number, point in enumerate(mine):
            if self._is_late(len(mine) - number):
                return
            ending = self.play(scenario, (point.number,))
            self.tally["points"] += 1
            # All points of a world must end in the same state. Only then is it enough to play one.
            if worlds.setdefault(point.world, ending.world) != ending.world:
                self._failed(scenario, ending, ["two points of one world left different states"])
        self._say(f"{scenario.name}: {len(mine)} of {len(points)} points in {len(worlds)} worlds")

    def in_pairs(self, scenarios: Sequence[Scenario], *, seed: int, every: bool) -> None:
        """Kill scenarios and their recoveries at pairs of points, in a seeded order.

        One point of each world is enough, unless `every` is set.
        """
        dice = random.Random(seed)

        def chosen(points: list[Point]) -> list[Point]:
            return points if every else _one_of_each_world(points, dice)

        firsts = [
            (scenario, first.number)
            for scenario in scenarios
            for first in chosen(self._points(scenario, ()))
        ]
        dice.shuffle(firsts)
        pairs = []
        for scenario, first in firsts[self._share[0] :: self._share[1]]:
            if self._is_late(1):
                break
            seconds = chosen(self._points(scenario, (first,)))
            pairs += [(scenario, first, second.number) for second in seconds]
        dice.shuffle(pairs)
        for number, (scenario, first, second) in enumerate(pairs):
            if self._is_late(len(pairs) - number):
                break
            self.play(scenario, (first, second))
            self.tally["pairs"] += 1
            if time.monotonic() > self._last_said + SAYS_SOMETHING_EVERY_S:
                self._say(f"{number + 1} of {len(pairs)} pairs")

    def play(self, scenario: Scenario, kills: tuple[int | None, ...]) -> Ending:
        """Play it once with these kills; report failures."""
        ending = self._runner.run(scenario, kills)
        self.tally["kills"] += len(ending.fell_at)
        if ending.breaches:
            self._failed(scenario, ending, ending.breaches)
        return ending

    def _points(self, scenario: Scenario, kills: tuple[int, ...]) -> list[Point]:
        return self.play(scenario, (*kills, None)).points

    def _is_late(self, left: int) -> bool:
        if time.monotonic() < self._until_s:
            return False
        self.tally["left_out"] += left
        return True

    def _failed(self, scenario: Scenario, ending: Ending, breaches: list[str]) -> None:
        self.tally["failures"] += 1
        numbers = [str(point.number) for point in ending.fell_at]
        options = dict(zip(("--point", "--then"), numbers, strict=False))
        again = " ".join(f"{option} {number}" for option, number in options.items()) or "--list"
        self._say(
            "\n".join(
                [
                    f"FAILED {scenario.name}, {'killed at' if numbers else 'played to its end'}",
                    *(f"  {point}" for point in ending.fell_at),
                    *(f"  -> {breach}" for breach in dict.fromkeys(breaches)),
                    f"  again: python -m tests.crash_points --scenario {scenario.name} {again}",
                ]
            )
        )

    def _say(self, line: str) -> None:
        self._last_said = time.monotonic()
        self.output.append(line)
        print(line, file=sys.stderr, flush=True)


def _one_of_each_world(points: list[Point], dice: random.Random) -> list[Point]:
    shuffled = dice.sample(points, len(points))
    return sorted({point.world: point for point in shuffled}.values(), key=attrgetter("number"))


def main() -> None:
    with begun(own_database=False) as runner:
        from tests.crash_points.scenarios import named

        for line in sys.stdin:
            name, seed = line.split()
            player = Player(runner)
            player.singly(named(name), seed=int(seed))
            print(json.dumps({**player.tally, "output": player.output}), flush=True)


if __name__ == "__main__":
    main()
