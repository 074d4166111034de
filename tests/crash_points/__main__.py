"""
`python -m tests.crash_points`: kill at every crash point of every scenario, and compare.

As many players as there are processors share the points among them, each with a database of its
own. Ends by itself; the last line sums up. Exit code 1 if a promise was broken anywhere.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from multiprocessing import get_context
from multiprocessing.connection import Connection

from newsletter_site.embedded_postgres import database_url
from tests.crash_points.player import Player, begun
from tests.own_cluster import KeptCluster
from tests.proofs.ground import clean_environment


def main() -> int:
    """Give every player its share, and add up what they say."""
    chosen = _options().parse_args()
    alone = chosen.list or chosen.point is not None
    count = 1 if alone else os.cpu_count() or 1
    began = time.monotonic()
    clean_environment()
    cluster = KeptCluster()
    cluster.start()
    os.environ["DATABASE_URL"] = database_url(cluster.data_dir, "postgres")
    forked = get_context("fork")
    try:
        players = []
        for number in range(count):
            ours, theirs = forked.Pipe(duplex=False)
            player = forked.Process(target=_play, args=(chosen, (number, count), theirs))
            player.start()
            theirs.close()
            players.append((player, ours))
        total: Counter[str] = Counter()
        for player, ours in players:
            try:
                total.update(ours.recv())
            except EOFError:
                total["failures"] += 1
                print("A player ended without a result; see above.")
            player.join()
    finally:
        cluster.end()
    print(
        f"{total['points']} points, {total['pairs']} pairs, {total['kills']} kills, "
        f"{total['failures']} failures, {total['left_out']} left out for want of time; "
        f"{time.monotonic() - began:.0f} s"
    )
    nothing_played = chosen.pairs and not total["pairs"]
    return 1 if total["failures"] or nothing_played else 0


def _play(chosen: argparse.Namespace, share: tuple[int, int], told: Connection) -> None:
    """Play a share of the points, in a process of its own."""
    with begun(own_database=True) as theatre:
        from tests.crash_points.scenarios import SCENARIOS, named

        player = Player(theatre, share=share, until_s=time.monotonic() + chosen.at_most_s)
        scenarios = [named(name) for name in chosen.scenario or ()] or SCENARIOS
        if chosen.list:
            for scenario in scenarios:
                for point in player.play(scenario, (None,)).points:
                    print(f"{point}  (world {point.world})")
        elif chosen.point is not None:
            kills = (chosen.point,) if chosen.then is None else (chosen.point, chosen.then)
            ending = player.play(scenarios[0], kills)
            print(*(f"killed at {point}" for point in ending.fell_at), ending.world, sep="\n")
        else:
            for scenario in scenarios:
                player.singly(scenario)
            if chosen.pairs:
                player.in_pairs(scenarios, seed=chosen.seed, every=chosen.every)
    told.send(player.tally)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Kill at every crash point, and compare.")
    parser.add_argument("--scenario", action="append", metavar="NAME", help="only this; repeatable")
    parser.add_argument("--pairs", action="store_true", help="also crashes in recovery of crashes")
    parser.add_argument(
        "--every", action="store_true", help="in pairs: every point, not one for each world"
    )
    parser.add_argument("--point", type=int, help="this point alone, and say what is there")
    parser.add_argument("--then", type=int, help="after --point, this point of the recovery")
    parser.add_argument("--list", action="store_true", help="list the points of the scenarios")
    parser.add_argument("--seed", type=int, default=1789, help="the order of the pairs")
    parser.add_argument(
        "--at-most-s", type=float, default=3000.0, help="stop after so many seconds, and say so"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
