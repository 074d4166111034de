"""Move a list in, take it back and move it in again, killed on the way.

The list has five fields, ten tags and mixed statuses; a fifth of its readers unsubscribed
elsewhere. The first import and its undo are killed, and then continued by the same command. At the
end an issue goes to everyone. The study fails if the counts are wrong, or if a reader who left
elsewhere gets a copy. It prints time and peak memory of each process.

    python -m benchmarks.studies.moving_in [--rows 1000000]
"""

import argparse
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.frame import at_least_one, end_in_good_order
from benchmarks.imports import Step, run_step
from benchmarks.site.site import ROOT, Site, a_site

STATUSES = ("subscribed",) * 14 + ("unsubscribed",) * 4 + ("bounced", "pending")
FIELDS = ("city", "country", "plan", "club", "shoe")
KILLED_AFTER_LINES = 3  # of progress, one for 100,000 rows or readers
PREPARE = """
    INSERT INTO reader_field (key, label, position)
    SELECT key, key, place FROM unnest(%s::text[]) WITH ORDINALITY AS _ (key, place)
"""
AUDIENCE = """
    SELECT sum(size) FROM batch JOIN edition ON edition.id = edition_id WHERE kind = 'newsletter'
"""
# Copies for readers whom the file calls unsubscribed or bounced.
MAILED_WHO_LEFT = """
    SELECT count(*) FROM delivery JOIN suppression ON address_key = lower(address)
"""


def write_list(path: Path, rows: int) -> Counter[str]:
    """Write a list of `rows` rows; return its rows by status."""
    counts: Counter[str] = Counter()
    with path.open("w", encoding="utf-8") as file:
        file.write(f"email,name,{','.join(FIELDS)},tags,status,signed up\n")
        for number in range(rows):
            status = STATUSES[number % len(STATUSES)]
            counts[status] += 1
            values = ",".join(f"{field} {number % 997}" for field in FIELDS)
            tags = f'"tag {number % 10},tag {number % 7}"'
            file.write(
                f"reader{number}@example.net,Reader {number},{values},{tags},{status},2021-03-04\n"
            )
    return counts


def run(rows: int) -> None:
    """Run the whole study and print each step. Raises `AssertionError`."""
    with a_site() as site, closing(site.connect()) as database:
        database.execute(PREPARE, [list(FIELDS)])
        path = site.folder / "list.csv"
        counts = write_list(path, rows)
        left = counts["unsubscribed"] + counts["bounced"]
        command = ("import_subscribers", str(path), "--confirmed", "--consent", "Moved")

        _kill(site, *command)
        print(f"  killed after {site.one('SELECT rows FROM subscriber_import'):,} rows")
        first = _shown("import, continued", run_step(site, "manage.py", *command))
        assert (first["rows"], first["added"], first["skipped"]) == (rows, rows - left, left), first

        undo = ("undo_import", str(first["import"]))
        _kill(site, *undo)
        done = site.one("SELECT undone FROM subscriber_import")
        print(f"  killed after {done:,} readers were removed")
        undone = _shown("undo, continued", run_step(site, "manage.py", *undo))
        assert undone["undone"] == undone["added"] == rows - left, undone
        assert site.one("SELECT count(*) FROM subscriber") == 0

        again = _shown("import again", run_step(site, "manage.py", *command))
        assert again["created"], again
        assert again["added"] + again["skipped"] == rows, again
        assert again["added"] == rows - left, again

        site.publish()
        audience = site.one(AUDIENCE)
        assert audience == counts["subscribed"], audience
        assert site.one(MAILED_WHO_LEFT) == 0
        print(f"  {rows:,} rows: {dict(counts)}; an issue goes to {audience:,} readers")
        site.manage("audit")


def _kill(site: Site, *command: str) -> None:
    """Run a command and kill it after some lines of progress."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=site.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    seen = 0
    for line in process.stderr:
        seen += line.startswith(("Rows:", "Readers:"))
        if seen == KILLED_AFTER_LINES:
            break
    process.kill()
    process.wait()
    process.stderr.close()


def _shown(what: str, step: Step) -> Any:
    print(f"  {what:<18} {step.took_s:7.1f} s {step.peak_mb:7.0f} MB", flush=True)
    return step.output


def main() -> None:
    """Run the study with a list of any length."""
    options = argparse.ArgumentParser(description="Move a list in, out and in again.")
    options.add_argument("--rows", type=at_least_one, default=1_000_000, help="(%(default)s)")
    end_in_good_order()
    run(options.parse_args().rows)


if __name__ == "__main__":
    main()
