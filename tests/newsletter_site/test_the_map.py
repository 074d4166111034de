"""The map in docs/architecture.md: what stands on it is there, and stands on it once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "docs" / "architecture.md").read_text().split("## A map")[1].split("```")[1]


def places() -> Iterator[str]:
    """Every folder and file that has a line, or a part of one, by its path in the checkout."""
    above: dict[int, str] = {}
    for line in MAP.strip().splitlines():
        indent = len(line) - len(line.lstrip())
        if line.startswith("tests/<app>/"):
            above[indent] = "tests/"
        if indent > 4 or "<" in line:
            continue
        names = re.split(r"\s{2,}", line.strip())[0].split(", ")
        for name in names:
            if re.fullmatch(r"[\w-]+(/|\.py)", name.split(" ")[0]):
                place = above.get(indent - 2, "") + name.split(" ")[0]
                yield place
                if place.endswith("/"):
                    above[indent] = place


def test_what_stands_on_the_map_is_there_and_stands_there_once() -> None:
    found = list(places())
    assert len(found) > 150
    assert [place for place in found if not (ROOT / place).exists()] == []
    assert sorted(found) == sorted(set(found))


def test_a_file_that_is_named_in_passing_is_there_too() -> None:
    there = {path.name for path in ROOT.glob("*/**/*.py") if ".venv" not in path.parts}
    assert [name for name in re.findall(r"\w+\.py", MAP) if name not in there] == []


def test_every_part_of_the_queue_stands_on_the_map() -> None:
    queue = MAP.split("  queue/ ")[1].split("  dispatch.py")[0]
    parts = {path.stem for path in (ROOT / "delivery" / "queue").glob("[!_]*.py")}
    assert parts - set(re.findall(r"\w+", queue)) == set()
