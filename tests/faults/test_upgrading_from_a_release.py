"""
From every released state: the tables are upgraded while workers and pages of that release go on.

What runs is the code of the release, as its commit has it, with the libraries of today.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from newsletter_site.demo.browser import Browser
from newsletter_site.migrating.releases import Release, releases
from postmark_sandbox.server import SandboxServer
from tests.browser.web_site import running_site
from tests.delivery.manage import Installation
from tests.faults.own_server import OwnServer
from tests.faults.waiting_for import held
from tests.faults.watched_worker import TIMES, WatchedWorker

ROOT = Path(__file__).resolve().parents[2]
READERS = 120
PASSWORD = "swifts sleep in the air"
# Calls are held until a test lets them go, however long the machine takes for what it does.
SETTINGS = TIMES | {
    "DEBUG": "on",
    "DELIVERY_BATCH_SIZE": "10",
    "DELIVERY_HTTP_DEADLINE_S": "300",
    "PUBLISH_HOLD_S": "0",
    "SIGN_UP_LEAST_S": "0",
}

pytestmark = pytest.mark.timeout(400)


def git(*arguments: str) -> bytes:
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", *arguments], cwd=ROOT, capture_output=True, check=False
    )
    if done.returncode:
        # A copy without history cannot show it, and says so; what checks every commit has it all.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "The history of this checkout is not there, and the code of a release is taken from "
            f"it: clone all of it to run this too ({done.stderr.decode().strip()})."
        )
    return done.stdout


@pytest.fixture(scope="module", params=releases(), ids=lambda release: release.name)
def code(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of a release, in a folder of its own."""
    release: Release = request.param
    folder = tmp_path_factory.mktemp("release")
    packed = git("archive", release.commit)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    return folder


@pytest.fixture
def empty_database(server: OwnServer) -> Iterator[str]:
    """The address of a database without a table."""
    with server.fresh_database(template="template0") as name:
        yield server.url(name)


def copies(provider: SandboxServer) -> dict[str, int]:
    """How many copies the provider accepted, by delivery."""
    return provider.sandbox.outbox.copies(lambda size: size > 0)


def answered(browser: Browser, address: str) -> str:
    answer = browser.open(address)
    assert answer.status == 200, (address, answer)
    return answer.html


def test_workers_and_pages_of_a_release_go_on_while_and_after_its_tables_are_upgraded(
    code: Path, empty_database: str, provider: SandboxServer, tmp_path: Path
) -> None:
    of_release, of_today = (
        Installation(provider.url, code=folder, DATABASE_URL=empty_database, **SETTINGS)
        for folder in (code, ROOT)
    )
    issue = _published_by(of_release, tmp_path)

    def worker(folder: Path) -> WatchedWorker:
        return WatchedWorker(
            empty_database, provider.url, "--concurrency", "1", code=folder, **SETTINGS
        )

    with running_site(empty_database, provider.url, SETTINGS, code=code) as site:
        author = Browser(site.url)
        author.sign_in("author", PASSWORD)
        provider.sandbox.set_fault("hold", moment="after_accept", calls=3)
        old = [worker(code) for _ in range(2)]
        try:
            # In the middle of sending: a call of each is in the air while the tables change.
            held(provider, 2)
            of_today.run("migrate", "--noinput")
            of_today.run("migrate", "--check")
            # And of all the code that there is now each sends, on the new tables.
            young = worker(ROOT)
            old.append(young)
            held(provider, 3)
            provider.sandbox.set_fault("hold", moment="after_accept", calls=3)
            provider.sandbox.gate.release("answer")
            held(provider, 3)
            _pages_of_the_release_answer(author, Browser(site.url), issue)
            second = _published_by_form(author, issue)
            provider.sandbox.gate.release("answer")
            # What the pages of the release made goes out too, by whichever worker.
            of_release.run("deliver", "--until-empty")
            for one in old:
                assert one.stop() == 0, one.said
            assert "Traceback" not in "".join(one.said for one in old)
        finally:
            for one in old:
                one.kill()
    of_today.run("audit")
    of_release.run("audit")
    for published, audience in ((issue, READERS), (second, READERS)):
        status = of_today.last_line("issue_status", published)
        assert (status["state"], status["sent"]) == ("succeeded", audience)
    # Two issues to every reader, and one letter to whoever signed up meanwhile.
    assert set(copies(provider).values()) == {1}
    assert len(copies(provider)) == 2 * READERS + 1


def test_a_release_that_knows_nothing_of_dropped_copies_leaves_nobody_out_of_a_correction(
    code: Path, empty_database: str, provider: SandboxServer, tmp_path: Path
) -> None:
    of_release, of_today = (
        Installation(provider.url, code=folder, DATABASE_URL=empty_database, **SETTINGS)
        for folder in (code, ROOT)
    )
    issue = _published_by(of_release, tmp_path)
    of_release.run("deliver", "--until-empty")
    of_today.run("migrate", "--noinput")
    with psycopg.connect(empty_database) as session:
        # As where it is old, and another issue was published since.
        session.execute("UPDATE edition SET copies_dropped_at = clock_timestamp()")
        session.execute("DELETE FROM delivery WHERE recipient_id % 2 = 0")
    correct = ("publish", "--title=Put right", f"--text-file={tmp_path / 'issue.txt'}")
    of_issue = (f"--issue={issue}", "--version=2")

    refused = of_release.run(*correct, *of_issue, "--goes-to=reached", exit_code=1)
    assert "who was sent version 1 is not kept any more" in refused.stderr
    assert of_release.last_line(*correct, *of_issue, "--goes-to=everyone")["audience"] == READERS


def _published_by(homing: Installation, folder: Path) -> str:
    """The tables, an author, readers and an issue of that code; its id."""
    homing.run("migrate", "--noinput")
    homing.run(
        "shell",
        typed="from django.contrib.auth import get_user_model\n"
        f"get_user_model().objects.create_superuser('author', 'a@b.example', {PASSWORD!r})\n",
    )
    readers = folder / "readers.csv"
    readers.write_text("email\n" + "".join(f"reader{n}@example.net\n" for n in range(READERS)))
    homing.run("import_subscribers", str(readers), "--confirmed")
    letter = folder / "issue.txt"
    letter.write_text("Swifts are back.")
    return str(homing.last_line("publish", "--title=Swifts", f"--text-file={letter}")["issue"])


def _pages_of_the_release_answer(author: Browser, stranger: Browser, issue: str) -> None:
    """Sign-up, the form, the progress of an issue: on tables that are newer than they are."""
    signing_up = stranger.form("/", "email")
    answer = stranger.send("/subscriptions/", {**signing_up, "email": "newcomer@example.net"})
    assert answer.status in (200, 302, 303), answer
    progress: dict[str, Any] = json.loads(
        answered(author, f"/admin/newsletters/{issue}/progress.json")
    )
    assert progress["audience"] == READERS
    assert progress["state"] == "sending"
    for address in ("/admin/newsletters/issues/", f"/admin/newsletters/{issue}/", "/archive/"):
        answered(author, address)


def _published_by_form(author: Browser, first: str) -> str:
    """An issue from the publishing form of the release, beside the first; its id."""
    form = author.form("/admin/newsletters/", "idempotency_key")
    answer = author.send(
        "/admin/newsletters/",
        {**form, "title": "Swifts leave", "text_content": "They have gone.", "html_content": ""},
    )
    assert answer.status == 303, answer
    desk = answered(author, "/admin/newsletters/issues/")
    (second,) = set(re.findall(r"/admin/newsletters/([0-9a-f-]{36})/", desk)) - {first}
    return str(second)
