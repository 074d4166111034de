"""
A player: it plays scenarios up to each of their crash points.

`python -m tests.crash_points.player` plays in the database that DATABASE_URL names, in which
everything is deleted. It reads the names of scenarios, one a line, and answers each with a line of
JSON: the counts, and what went wrong. So one warm process plays them all.
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
from typing import TYPE_CHECKING

from tests.crash_points.points import Point
from tests.crash_points.provider import Provider

if TYPE_CHECKING:
    from tests.crash_points.scenarios import Scenario
    from tests.crash_points.theatre import Ending, Theatre

SAYS_SOMETHING_EVERY_S = 10.0


@contextmanager
def begun(*, own_database: bool) -> Iterator[Theatre]:
    """
    A theatre, on a copy of the migrated template or on the database of the environment.

    Settings are read here, once: a process that forks must not have connected before.
    """
    provider = Provider()
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.crash_points.settings"
    os.environ["POSTMARK_BASE_URL"] = provider.url
    import django

    django.setup()
    from tests.crash_points.theatre import Theatre
    from tests.database.template import copied_database

    with ExitStack() as stack:
        stack.callback(provider.end)
        if own_database:
            stack.enter_context(copied_database())
        theatre = Theatre(provider)
        stack.callback(theatre.end)
        yield theatre


class Player:
    """Goes through the points of scenarios. `share` is (mine, of how many) where others help."""

    def __init__(
        self, theatre: Theatre, *, share: tuple[int, int] = (0, 1), until_s: float = float("inf")
    ) -> None:
        self.tally: Counter[str] = Counter()
        self.said: list[str] = []
        self._theatre = theatre
        self._share = share
        self._until_s = until_s
        self._last_said = time.monotonic()

    def singly(self, scenario: Scenario, *, always_recovers: bool) -> None:
        """
        Have the scenario cut short at each of its points.

        What follows from a world follows from all of its points: unless it `always_recovers`,
        that is done once for each world, and the other points are compared with that one.
        """
        worlds: dict[int, str] = {}
        mine = self._points(scenario, ())[self._share[0] :: self._share[1]]
        for number, point in enumerate(mine):
            if self._is_late(len(mine) - number):
                return
            recovers = always_recovers or point.world not in worlds
            ending = self.play(scenario, (point.number,), recovers=recovers)
            self.tally["points"] += 1
            # What makes it right to take one point of a world for all of them.
            if worlds.setdefault(point.world, ending.world) != ending.world:
                self._failed(scenario, ending, ["two points of one world left two worlds behind"])
        self._say(f"{scenario.name}: {len(mine)} points in {len(worlds)} worlds")

    def in_pairs(self, scenarios: Sequence[Scenario], *, seed: int, every: bool) -> None:
        """
        Have scenarios cut short, and their recovery too, at each pair of points, in a seeded order.

        One point of each world stands for all of it, unless `every` one is asked for.
        """
        firsts = [
            (scenario, first.number)
            for scenario in scenarios
            for first in _chosen(self._points(scenario, ()), every)
        ]
        dice = random.Random(seed)
        dice.shuffle(firsts)
        pairs = []
        for scenario, first in firsts[self._share[0] :: self._share[1]]:
            if self._is_late(1):
                break
            seconds = _chosen(self._points(scenario, (first,)), every)
            pairs += [(scenario, first, second.number) for second in seconds]
        dice.shuffle(pairs)
        for number, (scenario, first, second) in enumerate(pairs):
            if self._is_late(len(pairs) - number):
                break
            self.play(scenario, (first, second))
            self.tally["pairs"] += 1
            if time.monotonic() > self._last_said + SAYS_SOMETHING_EVERY_S:
                self._say(f"{number + 1} of {len(pairs)} pairs")

    def play(
        self, scenario: Scenario, kills: tuple[int | None, ...], *, recovers: bool = True
    ) -> Ending:
        """Play it once, with these kills; what went wrong is said."""
        ending = self._theatre.put_on(scenario, kills, recovers=recovers)
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
        self.said.append(line)
        print(line, file=sys.stderr, flush=True)


def _chosen(points: list[Point], every: bool) -> list[Point]:
    if every:
        return points
    return list({point.world: point for point in reversed(points)}.values())[::-1]


def main() -> None:
    with begun(own_database=False) as theatre:
        from tests.crash_points.scenarios import named

        for line in sys.stdin:
            player = Player(theatre)
            player.singly(named(line.strip()), always_recovers=False)
            print(json.dumps({**player.tally, "said": player.said}), flush=True)


if __name__ == "__main__":
    main()
