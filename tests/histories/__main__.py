"""Play random histories of publishing and delivery.

Run `python -m tests.histories --histories 2000 --steps 50 --seed 7`. It prints its seeds as it
plays and ends automatically. A history that breaks a promise is made as short as possible and
printed with the command that replays it.
"""

import argparse
import json
import os
import random
import sys

import pytest

from tests.postgres_cluster import ROOT

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__)
    parser.add_argument("--histories", type=int, default=1000, help="how many")
    parser.add_argument("--steps", type=int, default=40, help="the longest history, in steps")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--replay", default="", help="replay the history that a failure printed")
    parser.add_argument("--as-drawn", action="store_true", help="do not make a failure shorter")
    os.environ["HOMING_HISTORIES"] = json.dumps(vars(parser.parse_args()))
    os.chdir(ROOT)
    sys.exit(pytest.main(["tests/histories", "-q", "--show-capture=no", "--tb=short"]))
