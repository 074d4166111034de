"""The demo as somebody runs it who has just got the code: real processes in an empty environment.

What it should say is counted here from the file of readers, not by the import.
"""

import csv
import fcntl
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from newsletter_site.demo import readers
from newsletter_site.demo.failure import DemoError
from newsletter_site.embedded_postgres import server
from newsletter_site.embedded_postgres.cluster import cluster_in
from subscribers.models import Subscriber
from tests import own_cluster

READERS = own_cluster.ROOT / "publishing" / "demo_material" / "readers.csv"
MAILABLE = re.compile(r"[A-Za-z0-9.+_'-]+@(?:[^\W_](?:[^\W_]|-)*\.)+(?:org|com|net|example)", re.I)
LONGEST_NAME = 256

Start = Callable[..., subprocess.Popen[str]]
Finished = subprocess.CompletedProcess[str]


@dataclass
class Counted:
    """The file of readers, counted by hand."""

    rows: int = 0
    doubles: int = 0
    rejected: int = 0
    readers: set[str] = field(default_factory=set)

    @property
    def suppressed(self) -> int:
        """Those of whom the sandbox says that Postmark sends them nothing."""
        return sum(reader.startswith("inactive+") for reader in self.readers)

    @property
    def refused(self) -> int:
        """Those whose address the sandbox refuses."""
        return sum(reader.startswith("invalid+") for reader in self.readers)

    @property
    def reachable(self) -> int:
        """All others."""
        return len(self.readers) - self.suppressed - self.refused


@pytest.fixture(scope="module")
def counted() -> Counted:
    """What the file holds."""
    found = Counted()
    with READERS.open(encoding="utf-8-sig", newline="") as file:
        for cells in csv.reader(file):
            email, name, *_ = [*map(str.strip, cells), "", ""]
            if email == "Email" or not any(map(str.strip, cells)):
                continue
            found.rows += 1
            if not MAILABLE.fullmatch(email) or ".." in email or len(name) > LONGEST_NAME:
                found.rejected += 1
            elif email.lower() in found.readers:
                found.doubles += 1
            else:
                found.readers.add(email.lower())
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder of all runs of this module, in a place that others cannot enter."""
    closed = tmp_path_factory.mktemp("demo")
    closed.chmod(0o700)
    yield closed / "data"
    own_cluster.remove(closed / "data")


@pytest.fixture(scope="module")
def start(folder: Path) -> Iterator[Start]:
    """Starts a demo with nothing in its environment but what a bare machine has."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str) -> subprocess.Popen[str]:
        demo = subprocess.Popen(
            [sys.executable, str(own_cluster.ROOT / "manage.py"), "demo", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "HOMING_DATA_DIR": str(folder)},
        )
        started.append(demo)
        return demo

    yield start
    for demo in started:
        if demo.poll() is None:
            demo.terminate()
            demo.communicate()


def read_until(demo: subprocess.Popen[str], words: str) -> str:
    """What the demo says up to the line that holds `words`."""
    assert demo.stdout is not None
    said = ""
    for line in demo.stdout:
        said += line
        if words in line:
            return said
    raise AssertionError(f"The demo ended before it said {words!r}:\n{said}")


def processes_of(folder: Path) -> list[str]:
    """The processes that were started for this data folder."""
    mark = f"HOMING_DATA_DIR={folder}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:  # It has ended, or is somebody else's.
            continue
    return found


def nothing_is_left(folder: Path) -> bool:
    """Whether neither a process nor the database server of the demo is there any more."""
    return processes_of(folder) == [] and not server.is_up(cluster_in(folder))


def number_before(words: str, said: str) -> int:
    """The number in front of some words of the summary."""
    found = re.search(rf"([0-9,]+)  {re.escape(words)}", said)
    assert found, said
    return int(found[1].replace(",", ""))


def in_the_books(said: str) -> dict[str, int]:
    """The lines of the ledger."""
    ledger = said.partition("The books of")[2].partition("====")[0]
    lines = re.findall(r"^ +([a-z]+) +([0-9,]+)", ledger, re.MULTILINE)
    return {name: int(number.replace(",", "")) for name, number in lines}


def address_after(label: str, said: str) -> str:
    """One of the addresses that the demo gives out."""
    found = re.search(rf"^ +{label} +(http\S+)$", said, re.MULTILINE)
    assert found, said
    return found[1]


@pytest.fixture(scope="module")
def first_run(start: Start) -> Finished:
    """`manage.py demo --exit` in a new folder."""
    demo = start("--exit")
    said, _ = demo.communicate()
    return subprocess.CompletedProcess(demo.args, demo.returncode, said)


def test_the_demo_ends_with_each_reader_served_exactly_once(
    first_run: Finished, counted: Counted
) -> None:
    last_line = first_run.stdout.splitlines()[-1]
    assert last_line == f"{counted.reachable:,} readers, each exactly once."
    assert first_run.returncode == 0


def test_its_import_is_the_file_counted_by_hand(first_run: Finished, counted: Counted) -> None:
    assert f"{counted.rows:,} rows of readers.csv\n" in first_run.stdout
    assert number_before("imported", first_run.stdout) == len(counted.readers)
    assert number_before("doubles", first_run.stdout) == counted.doubles
    assert number_before("rejected", first_run.stdout) == counted.rejected


def test_both_posts_of_its_form_are_accepted_and_make_one_edition(first_run: Finished) -> None:
    assert re.findall(r"^    (?:first|second) .* (303),", first_run.stdout, re.MULTILINE) == [
        "303",
        "303",
    ]
    assert re.search(r"^    together  1 edition$", first_run.stdout, re.MULTILINE)


def test_its_books_balance(first_run: Finished, counted: Counted) -> None:
    assert in_the_books(first_run.stdout) == {
        "sent": counted.reachable,
        "suppressed": counted.suppressed,
        "withdrawn": 0,
        "failed": counted.refused,
        "unknown": 0,
        "waiting": 0,
        "together": len(counted.readers),
    }


def test_it_names_whom_it_did_not_send_to_and_why(first_run: Finished, counted: Counted) -> None:
    told = first_run.stdout.partition("Not sent, and why")[2]
    for reader in counted.readers:
        if reader.startswith(("inactive+", "invalid+")):
            assert re.search(rf"{re.escape(reader)}\n +\S", told)


def test_no_line_is_wider_than_a_screen(first_run: Finished) -> None:
    summary = first_run.stdout.partition("The readers:")[2]
    assert max(map(len, summary.splitlines())) <= 100


def test_with_exit_it_leaves_nothing_running(first_run: Finished, folder: Path) -> None:
    assert first_run.returncode == 0
    assert nothing_is_left(folder)


def test_run_again_it_goes_the_whole_way_again_and_stays_up_until_ctrl_c(
    first_run: Finished, start: Start, folder: Path, counted: Counted
) -> None:
    demo = start()
    said = read_until(demo, "Ctrl-C")
    assert "imported before and not again" in said
    assert f"\n{counted.reachable:,} readers, each exactly once.\n" in said

    write = requests.get(address_after("write", said), allow_redirects=False, timeout=30)
    assert write.headers["Location"] == "/admin/login/?next=/admin/newsletters/write/"
    front = requests.get(address_after("front page", said), timeout=30)
    assert "When the swifts came" in front.text
    for label in ("archive", "every mail", "one of them", "its way out"):
        page = requests.get(address_after(label, said), allow_redirects=False, timeout=30)
        assert page.status_code == 200, label
    assert len(processes_of(folder)) > 4
    every_mail = requests.get(address_after("every mail", said), timeout=30).text
    desk = f"{address_after('front page', said)}admin/newsletters/issues/"
    assert f'<a href="{desk}">Back to the desk</a>' in every_mail

    inbox, _, mail = address_after("one of them", said).partition("?message=")
    complaint = {"event": "SpamComplaint", "message": mail}
    requests.post(f"{inbox}__sandbox__/events", json=complaint, timeout=30).raise_for_status()
    while not (told := requests.get(f"{inbox}__sandbox__/webhooks", timeout=30).json())["idle"]:
        assert told["lost"] == told["retried"] == 0
    assert (told["posted"], told["lost"]) == (2, 0)

    demo.send_signal(signal.SIGINT)
    rest, _ = demo.communicate()
    assert "Traceback" not in rest
    assert demo.returncode == 0
    assert nothing_is_left(folder)


def test_killed_in_the_middle_it_takes_its_children_with_it(
    first_run: Finished, start: Start, folder: Path
) -> None:
    demo = start()
    read_until(demo, "posted twice")
    demo.kill()
    demo.communicate()
    # Each of its processes holds this lock: it is to be had when the last of them is gone.
    with (folder / "demo.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    assert nothing_is_left(folder)


def test_outside_debug_it_stops_with_one_sentence(tmp_path: Path) -> None:
    settings = {
        "DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing",
        "HOMING_DATA_DIR": str(tmp_path),
        "POSTMARK_SERVER_TOKEN": "a token",
        "SECRET_KEY": "a key for tests alone, long enough to be taken for one: 0123456789",
        "SITE_URL": "https://letter.example.org",
    }
    demo = subprocess.run(
        [sys.executable, str(own_cluster.ROOT / "manage.py"), "demo", "--exit"],
        capture_output=True,
        text=True,
        env={"PATH": os.defpath, **settings},
        check=False,
    )
    assert demo.returncode == 1
    assert demo.stdout == ""
    assert re.fullmatch(r"CommandError: DEBUG is off, .+\n", demo.stderr)


@pytest.mark.django_db
def test_a_database_with_somebody_elses_readers_is_refused() -> None:
    Subscriber.objects.create(email="reader@example.org")
    with pytest.raises(DemoError, match=r"^The database holds 1 reader that the demo did not"):
        readers.refuse_other_readers()


@pytest.mark.django_db
def test_a_database_with_no_readers_or_its_own_is_taken() -> None:
    readers.refuse_other_readers()
    readers.bring_in(lambda: None)
    readers.refuse_other_readers()
