"""The demo in an empty environment, with real processes.

test_demo_checks.py checks that the expected numbers match the file of readers.
"""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from newsletter_site.demo.demo_browser import Browser
from newsletter_site.embedded_postgres import start_and_stop_server
from newsletter_site.embedded_postgres.server_folder import cluster_in
from tests import postgres_cluster

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]

IMPORTED, DOUBLES, REJECTED = 5060, 64, 17
# The sandbox refuses INACTIVE as suppressed addresses, and INVALID as invalid addresses.
INACTIVE = ("inactive+lock@bounce.example", "inactive+weir@bounce.example")
INVALID = ("invalid+gatehouse@bounce.example",)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a data folder for the demo, in a place that other users cannot enter."""
    closed = tmp_path / "demo"
    closed.mkdir(mode=0o700)
    yield closed / "data"
    postgres_cluster.remove(closed / "data")


@pytest.fixture
def demo(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a demo with the environment of a bare machine."""
    with subprocess.Popen(
        [sys.executable, str(postgres_cluster.ROOT / "manage.py"), "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "HOMING_DATA_DIR": str(folder)},
    ) as demo:
        yield demo
        demo.terminate()


def read_until(demo: subprocess.Popen[str], words: str) -> str:
    """Return the demo's output up to the line that contains `words`."""
    assert demo.stdout is not None
    output = ""
    for line in demo.stdout:
        output += line
        if words in line:
            return output
    raise AssertionError(f"The demo ended before it said {words!r}:\n{output}")


def processes_of(folder: Path) -> list[str]:
    mark = f"HOMING_DATA_DIR={folder}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:  # The process has ended, or belongs to another user.
            continue
    return found


def number_before(words: str, output: str) -> int:
    found = re.search(rf"([0-9,]+)  {re.escape(words)}", output)
    assert found, output
    return int(found[1].replace(",", ""))


def counts_in(output: str) -> dict[str, int]:
    section = output.partition("Counts of")[2].partition("\n\n")[0]
    lines = re.findall(r"^ +([a-z]+) +([0-9,]+)", section, re.MULTILINE)
    return {name: int(number.replace(",", "")) for name, number in lines}


def address_after(label: str, output: str) -> str:
    found = re.search(rf"^ +{label} +(http\S+)$", output, re.MULTILINE)
    assert found, output
    return found[1]


def test_each_reader_gets_one_copy_and_the_site_stays_up(
    demo: subprocess.Popen[str], folder: Path
) -> None:
    output = read_until(demo, "Ctrl-C")
    assert f"{IMPORTED + DOUBLES + REJECTED:,} rows of readers.csv\n" in output
    assert number_before("imported", output) == IMPORTED
    assert number_before("duplicates", output) == DOUBLES
    assert number_before("rejected", output) == REJECTED
    posts = re.findall(r"^    (?:first|second) .* (303),", output, re.MULTILINE)
    assert posts == ["303", "303"]
    assert re.search(r"^    result    editions created: 1$", output, re.MULTILINE)
    assert counts_in(output) == {
        "sent": IMPORTED - len(INACTIVE) - len(INVALID),
        "suppressed": len(INACTIVE),
        "withdrawn": 0,
        "failed": len(INVALID),
        "unknown": 0,
        "waiting": 0,
        "audience": IMPORTED,
    }
    not_sent = output.partition("\nNot sent\n")[2]
    for reader in INACTIVE + INVALID:
        assert re.search(rf"{re.escape(reader)}\n +\S", not_sent)
    sent = IMPORTED - len(INACTIVE) - len(INVALID)
    assert f"\n{sent:,} readers got the issue, each exactly once.\n" in output

    write = requests.get(address_after("write", output), allow_redirects=False, timeout=30)
    assert write.headers["Location"] == "/admin/login/?next=/admin/newsletters/write/"
    assert (
        "When the swifts came" in requests.get(address_after("front page", output), timeout=30).text
    )
    nowhere = requests.get(f"{address_after('front page', output)}nowhere/", timeout=30)
    assert (nowhere.status_code, "Page not found" in nowhere.text) == (404, True)
    for label in ("archive", "every mail", "one of them", "unsubscribe"):
        page = requests.get(address_after(label, output), allow_redirects=False, timeout=30)
        assert page.status_code == 200, label
    assert len(processes_of(folder)) > 4
    inbox_page = requests.get(address_after("every mail", output), timeout=30)
    assert "Back to Issues" in inbox_page.text
    inbox, _, mail = address_after("one of them", output).partition("?message=")
    complaint = {"event": "SpamComplaint", "message": mail}
    requests.post(f"{inbox}__sandbox__/events", json=complaint, timeout=30).raise_for_status()
    site = Browser(address_after("front page", output).removesuffix("/"))
    password = re.search(r"^ +password +(\S+)$", output, re.MULTILINE)
    assert password
    site.sign_in("author", password[1])
    page = address_after("this issue", output).removeprefix(site.url)
    # The counts grow while the events arrive. A complaint may arrive before the delivery events.
    while not re.search(r'id="result-complained">1<', html := site.open(page).text):
        pass
    delivered = re.search(r'id="result-delivered">([0-9,]+)<', html)
    assert delivered
    assert int(delivered[1].replace(",", "")) > 0
    webhooks = requests.get(f"{inbox}__sandbox__/webhooks", timeout=30).json()
    assert webhooks["lost"] == webhooks["retried"] == 0

    demo.send_signal(signal.SIGINT)
    rest, _ = demo.communicate()
    assert "Ending the demo." in rest
    assert "Traceback" not in rest
    assert demo.returncode == 0
    assert processes_of(folder) == []
    assert not start_and_stop_server.is_up(cluster_in(folder))


def test_child_ends_when_the_demo_is_killed() -> None:
    arguments = ["-u", "-m", "newsletter_site.demo.run_as_child", "http.server", "0"]
    with subprocess.Popen(
        [sys.executable, *arguments, "--bind", "127.0.0.1"],
        cwd=postgres_cluster.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            assert "Serving" in child.stdout.readline()
            child.stdin.close()  # The system closes the pipe of a killed demo too.
            assert child.wait(20) == 0
        finally:
            child.kill()
