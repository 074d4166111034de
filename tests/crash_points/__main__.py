"""Kill at every crash point and compare: `python -m tests.crash_points`.

One player for each core plays a share of the points on its own database. The last line is the
summary. Exit code 1: a promise was broken, or `--pairs` found no time for any pair.
"""

import argparse
import os
import sys
import time
from collections import Counter
from multiprocessing import get_context
from multiprocessing.connection import Connection

from newsletter_site.embedded_postgres import database_url
from tests.crash_points.scenario_process import Player, begun
from tests.postgres_cluster import KeptCluster
from tests.proofs.environment import clean_environment


def main() -> int:
    """Give each player a share of the points, and add up their counts."""
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
                print("A player ended without a result; its error is printed above.")
            player.join()
    finally:
        cluster.end()
    print(
        f"{total['points']} points, {total['pairs']} pairs, {total['kills']} kills, "
        f"{total['failures']} failures, {total['left_out']} skipped for lack of time; "
        f"{time.monotonic() - began:.0f} s"
    )
    nothing_played = chosen.pairs and not total["pairs"]
    return 1 if total["failures"] or nothing_played else 0


def _play(chosen: argparse.Namespace, share: tuple[int, int], results: Connection) -> None:
    """Play a share of the points in a separate process."""
    with begun(own_database=True) as runner:
        from tests.crash_points.scenarios import SCENARIOS, named

        player = Player(runner, share=share, until_s=time.monotonic() + chosen.at_most_s)
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
    results.send(player.tally)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Kill at every crash point, and compare.")
    parser.add_argument("--scenario", action="append", metavar="NAME", help="only this scenario")
    parser.add_argument("--pairs", action="store_true", help="also kill the recovery")
    parser.add_argument(
        "--every", action="store_true", help="with --pairs: every point, not one of each world"
    )
    parser.add_argument("--point", type=int, help="only this point; print the state that it leaves")
    parser.add_argument("--then", type=int, help="with --point: kill the recovery here")
    parser.add_argument("--list", action="store_true", help="list the points of the scenarios")
    parser.add_argument("--seed", type=int, default=1789, help="seed for the order of pairs (1789)")
    parser.add_argument(
        "--at-most-s", type=float, default=3000.0, help="stop after this many seconds (3000)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
