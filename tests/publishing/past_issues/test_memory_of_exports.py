"""Reading a hostile export takes little memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from benchmarks.hostile_files import PAST_ISSUES

pytestmark = pytest.mark.process

MOST_BYTES = 150 * 1024 * 1024
# Other kinds of files are measured by `make bench ROWS=memory_of_files`.
KINDS = {
    "rows of commas": "too_many",
    "a cell": "long_row",
    "a Ghost address": "too_long",
    "Ghost: small objects beside the posts": "unknown",
}


def test_hostile_exports_stay_within_their_memory(tmp_path: Path) -> None:
    for kind in KINDS:
        (tmp_path / kind).write_bytes(PAST_ISSUES[kind]())
    program = ["-m", "benchmarks.rows.memory_of_files", "past_issues", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, *program, *KINDS],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["name"] for one in results] == list(KINDS)
    for one in results:
        assert KINDS[one["name"]] in one["outcome"], one
        assert one["bytes"] <= MOST_BYTES, one
