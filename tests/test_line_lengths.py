"""Templates, scripts and styles have short lines; ruff checks Python."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
FOLDERS = ("templates", "static", "postmark_sandbox/pages/page_files")
KINDS = {".css", ".html", ".js", ".svg", ".txt"}
LONGEST = 120


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_line_is_longer_than_120_characters(folder):
    vendored = REPOSITORY / "static" / "vendor"
    files = [
        path
        for path in (REPOSITORY / folder).rglob("*")
        if path.suffix in KINDS and vendored not in path.parents
    ]
    assert files
    too_long = [
        f"{path.relative_to(REPOSITORY)}:{number}: {len(line)} characters"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST
    ]
    assert not too_long
