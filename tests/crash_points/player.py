"""
Plays scenarios up to each of their crash points, in the database that DATABASE_URL names.

`python -m tests.crash_points.player --help`. Everything in that database is deleted. The last line
is JSON: scenarios, points, pairs, kills, failures.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tests.crash_points.points import Point
from tests.crash_points.provider import Provider

if TYPE_CHECKING:
    from tests.crash_points.scenarios import Scenario
    from tests.crash_points.theatre import Ending, Theatre

SAYS_SOMETHING_EVERY_S = 10.0


@dataclass
class Tally:
    """What was played."""

    scenarios: int = 0
    points: int = 0
    pairs: int = 0
    kills: int = 0
    failures: int = 0
    left_out: int = 0


class Player:
    """Goes through the points of scenarios. `share` is (mine, of how many) where others help."""

    def __init__(
        self, theatre: Theatre, *, share: tuple[int, int], seed: int, until_s: float, every: bool
    ) -> None:
        self.tally = Tally()
        self._theatre = theatre
        self._share = share
        self._dice = random.Random(seed)
        self._until_s = until_s
        self._every = every
        self._last_said = time.monotonic()

    def singly(self, scenario: Scenario) -> None:
        """Have the scenario cut short at each of its points."""
        began = time.monotonic()
        points = self._points(scenario, ())
        worlds: dict[int, str] = {}
        mine = points[self._share[0] :: self._share[1]]
        for number, point in enumerate(mine):
            if self._is_late(len(mine) - number):
                break
            ending = self.play(scenario, (point.number,))
            self.tally.points += 1
            # What makes it right to take one point of a world for all of them in pairs.
            if worlds.setdefault(point.world, ending.world) != ending.world:
                self._failed(scenario, ending, ["two points of one world left two worlds behind"])
            self._say(
                f"{scenario.name}: {number + 1} of {len(mine)} points", only_now_and_then=True
            )
        self.tally.scenarios += 1
        self._say(
            f"{scenario.name}: {len(mine)} of {len(points)} points in "
            f"{1 + max(point.world for point in points)} worlds, "
            f"{time.monotonic() - began:.1f} s"
        )

    def in_pairs(self, scenario: Scenario) -> None:
        """
        Have it cut short, and its recovery too, at each pair of points.

        One point of each world stands for all of it, unless every one was asked for.
        """
        began = time.monotonic()
        firsts = self._chosen(self._points(scenario, ()))
        mine = firsts[self._share[0] :: self._share[1]]
        pairs = [
            (first.number, second.number)
            for first in mine
            for second in self._chosen(self._points(scenario, (first.number,)))
        ]
        self._dice.shuffle(pairs)
        for number, pair in enumerate(pairs):
            if self._is_late(len(pairs) - number):
                break
            self.play(scenario, pair)
            self.tally.pairs += 1
            self._say(
                f"{scenario.name}: {number + 1} of {len(pairs)} pairs", only_now_and_then=True
            )
        self.tally.scenarios += 1
        self._say(
            f"{scenario.name}: {len(pairs)} pairs from {len(mine)} of {len(firsts)} first points, "
            f"{time.monotonic() - began:.1f} s"
        )

    def play(self, scenario: Scenario, kills: tuple[int | None, ...]) -> Ending:
        """Once, with these kills; what went wrong is said."""
        ending = self._theatre.put_on(scenario, kills)
        self.tally.kills += len(ending.fell_at)
        if ending.breaches:
            self._failed(scenario, ending, ending.breaches)
        return ending

    def _points(self, scenario: Scenario, kills: tuple[int, ...]) -> list[Point]:
        return self.play(scenario, (*kills, None)).points

    def _chosen(self, points: list[Point]) -> list[Point]:
        if self._every:
            return points
        return list({point.world: point for point in reversed(points)}.values())[::-1]

    def _is_late(self, left: int) -> bool:
        if time.monotonic() < self._until_s:
            return False
        self.tally.left_out += left
        return True

    def _failed(self, scenario: Scenario, ending: Ending, breaches: list[str]) -> None:
        self.tally.failures += 1
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

    def _say(self, line: str, *, only_now_and_then: bool = False) -> None:
        now = time.monotonic()
        if only_now_and_then and now < self._last_said + SAYS_SOMETHING_EVERY_S:
            return
        self._last_said = now
        print(line, flush=True)


def options() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(description="Kill at every crash point, and compare.")
    parser.add_argument("--scenario", action="append", metavar="NAME", help="only this; repeatable")
    parser.add_argument("--pairs", action="store_true", help="crashes in the recovery of crashes")
    parser.add_argument(
        "--every", action="store_true", help="in pairs: every point, not one for each world"
    )
    parser.add_argument("--point", type=int, help="this point alone, and say what is there")
    parser.add_argument("--then", type=int, help="after --point, this point of the recovery")
    parser.add_argument("--list", action="store_true", help="list the points of the scenario")
    parser.add_argument(
        "--seed", type=int, default=1789, help="the order in which pairs are played"
    )
    parser.add_argument(
        "--at-most-s", type=float, default=3000.0, help="stop after so many seconds, and say so"
    )
    parser.add_argument("--share", default="0/1", help=argparse.SUPPRESS)
    return parser


def _play(player: Player, chosen: argparse.Namespace) -> None:
    from tests.crash_points.scenarios import SCENARIOS, named

    for scenario in [named(name) for name in chosen.scenario or ()] or SCENARIOS:
        if chosen.list:
            for point in player.play(scenario, (None,)).points:
                print(f"{point}  (world {point.world})")
        elif chosen.point is not None:
            kills = (chosen.point,) if chosen.then is None else (chosen.point, chosen.then)
            ending = player.play(scenario, kills)
            for point in ending.fell_at:
                print(f"killed at {point}")
            print(ending.world)
        elif chosen.pairs:
            player.in_pairs(scenario)
        else:
            player.singly(scenario)


def main() -> int:
    """Play what was asked for; 1 if a promise was broken."""
    chosen = options().parse_args()
    mine, of = map(int, chosen.share.split("/"))
    provider = Provider()
    # Settings are read once, and a process that forks must not have connected before.
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.crash_points.settings"
    os.environ["POSTMARK_BASE_URL"] = provider.url
    import django

    django.setup()
    from tests.crash_points.theatre import opened

    with opened(provider) as theatre:
        player = Player(
            theatre,
            share=(mine, of),
            seed=chosen.seed,
            until_s=time.monotonic() + chosen.at_most_s,
            every=chosen.every,
        )
        _play(player, chosen)
    provider.end()
    print(json.dumps(asdict(player.tally)))
    return 1 if player.tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
