"""
Plays random histories: `python -m tests.histories --histories 2000 --steps 50 --seed 7`.

Prints its seeds as it goes and ends by itself. A history that breaks a promise is made as short as
it can be and printed with the line that replays it.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def main(arguments: list[str]) -> int:
    """Play; the exit code is that of pytest."""
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__)
    parser.add_argument("--histories", type=int, default=1000, help="how many")
    parser.add_argument("--steps", type=int, default=40, help="the longest, in steps")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--replay", default="", help="the text that a failure printed")
    parser.add_argument("--as-drawn", action="store_true", help="do not make a failure shorter")
    asked = parser.parse_args(arguments)
    os.environ["HOMING_HISTORIES"] = str(asked.histories)
    os.environ["HOMING_HISTORIES_STEPS"] = str(asked.steps)
    os.environ["HOMING_HISTORIES_SEED"] = str(asked.seed)
    os.environ["HOMING_HISTORIES_REPLAY"] = asked.replay
    os.environ["HOMING_HISTORIES_SHRINK"] = "0" if asked.as_drawn else "1"
    os.chdir(HERE.parent.parent)
    return pytest.main([str(HERE), "-q", "--show-capture=no", "--tb=short"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
