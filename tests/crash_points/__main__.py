"""
`python -m tests.crash_points`: the long run, on a database server of its own.

As many players as there are processors share the points among them. Ends by itself; the last line
sums up. Exit code 1 if a promise was broken anywhere.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter

import psycopg

from newsletter_site import embedded_postgres
from tests.crash_points.player import options
from tests.own_cluster import ROOT, OwnCluster

ENVIRONMENT = {
    "DEBUG": "off",
    "SECRET_KEY": "a key for tests alone, long enough to be taken for one: 0123456789",
    "POSTMARK_SERVER_TOKEN": "sandbox",
    "SITE_URL": "https://letter.example.org",
    "DJANGO_SETTINGS_MODULE": "newsletter_site.settings",
}
PLAYERS_AT_MOST = 8


def main() -> int:
    """Give every player a database and a share, and add up what they say."""
    chosen = options().parse_args()
    alone = chosen.list or chosen.point is not None
    count = 1 if alone else min(os.cpu_count() or 1, PLAYERS_AT_MOST)
    began = time.monotonic()
    cluster = OwnCluster()
    cluster.start()
    try:
        urls = _databases(cluster, count)
        tallies: list[dict[str, int]] = []
        codes: list[int] = []

        def play(number: int) -> None:
            share = ["--share", f"{number}/{count}"]
            with subprocess.Popen(
                [sys.executable, "-m", "tests.crash_points.player", *sys.argv[1:], *share],
                cwd=ROOT,
                env=os.environ | ENVIRONMENT | {"DATABASE_URL": urls[number]},
                stdout=subprocess.PIPE,
                text=True,
            ) as player:
                assert player.stdout is not None
                for line in player.stdout:
                    if line.startswith('{"scenarios"'):
                        tallies.append(json.loads(line))
                    else:
                        print(line, end="", flush=True)
            codes.append(player.returncode)

        players = [threading.Thread(target=play, args=(number,)) for number in range(count)]
        for player in players:
            player.start()
        for player in players:
            player.join()
    finally:
        cluster.end()
    if len(tallies) < count:
        print(f"{count - len(tallies)} of {count} players ended without a result; see above.")
    total: Counter[str] = Counter()
    for tally in tallies:
        total.update(tally)
    total["scenarios"] //= max(1, len(tallies))
    print(
        f"{total['scenarios']} scenarios, {total['points']} points, {total['pairs']} pairs, "
        f"{total['kills']} kills, {total['failures']} failures, {total['left_out']} left out for "
        f"want of time; {time.monotonic() - began:.0f} s"
    )
    return 1 if any(codes) or len(tallies) < count else 0


def _databases(cluster: OwnCluster, count: int) -> list[str]:
    """The addresses of so many databases with all tables and nothing in them."""
    urls = [
        embedded_postgres.database_url(cluster.data_dir, f"crash_points_{number}")
        for number in range(count)
    ]
    server = embedded_postgres.database_url(cluster.data_dir, "postgres")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE crash_points_0")
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
            cwd=ROOT,
            env=os.environ | ENVIRONMENT | {"DATABASE_URL": urls[0]},
            check=True,
        )
        for number in range(1, count):
            connection.execute(f"CREATE DATABASE crash_points_{number} TEMPLATE crash_points_0")
    return urls


if __name__ == "__main__":
    sys.exit(main())
