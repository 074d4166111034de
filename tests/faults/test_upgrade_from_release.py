"""
Tables are upgraded from every release while workers and pages of that release continue.

The code of the release runs as its commit has it, with the libraries of today. Until there is a
release, today's code is upgraded to the made-up one of tests/faults/next_release/.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from newsletter_site.demo.browser import Browser
from postmark_sandbox.server import SandboxServer
from tests.browser.web_site import running_site
from tests.delivery.homing_installation import Installation
from tests.faults.processes.watched_worker import TIMES, WatchedWorker
from tests.faults.servers.postgres_server import OwnServer
from tests.faults.wait_until import held
from tests.newsletter_site.migrating.releases import Release, releases

ROOT = Path(__file__).resolve().parents[2]
READERS = 120
PASSWORD = "swifts sleep in the air"
# Calls are held until a test lets them go, however long the machine takes for what it does.
SETTINGS = TIMES | {
    # A release need not have the settings of the tests.
    "DJANGO_SETTINGS_MODULE": "newsletter_site.settings",
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


@dataclass(frozen=True, slots=True)
class Upgrade:
    """From the code in `old` to that in `ROOT` with the settings module `new_settings`."""

    old: Path
    new_settings: str = SETTINGS["DJANGO_SETTINGS_MODULE"]


MADE_UP = "tests.faults.next_release.settings"


@pytest.fixture(
    scope="module",
    params=releases() or [None],
    ids=lambda release: release.name if release else "to a made-up release",
)
def upgrade(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Upgrade:
    """An upgrade from the code of a release, unpacked in a folder of its own."""
    release: Release | None = request.param
    if release is None:
        return Upgrade(ROOT, MADE_UP)
    folder = tmp_path_factory.mktemp("release")
    packed = git("archive", release.commit)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    return Upgrade(folder)


@pytest.fixture
def empty_database(server: OwnServer) -> Iterator[str]:
    """The address of a database without a table."""
    with server.fresh_database(template="template0") as name:
        yield server.url(name)


def answered(browser: Browser, address: str) -> str:
    answer = browser.open(address)
    assert answer.status_code == 200, (address, answer)
    return answer.text


class TwoReleases:
    """One database, used by the code of an old release and of a new one."""

    def __init__(self, upgrade: Upgrade, url: str, provider: SandboxServer) -> None:
        self.url, self.provider = url, provider
        self.old_place: tuple[Path, dict[str, str]] = (upgrade.old, SETTINGS)
        self.new_place: tuple[Path, dict[str, str]] = (
            ROOT,
            SETTINGS | {"DJANGO_SETTINGS_MODULE": upgrade.new_settings},
        )
        self.old, self.new = (
            Installation(provider.url, code=code, DATABASE_URL=url, **settings)
            for code, settings in (self.old_place, self.new_place)
        )

    def worker(self, place: tuple[Path, dict[str, str]]) -> WatchedWorker:
        code, settings = place
        return WatchedWorker(
            self.url, self.provider.url, "--concurrency", "1", code=code, **settings
        )

    def published(self, folder: Path) -> str:
        """The tables, an author, readers and an issue of the release; its id."""
        readers, letter = folder / "readers.csv", folder / "issue.txt"
        readers.write_text("email\n" + "".join(f"reader{n}@example.net\n" for n in range(READERS)))
        letter.write_text("Swifts are back.")
        done = self.old.run(
            "shell",
            typed="from django.contrib.auth import get_user_model\n"
            "from django.core.management import call_command\n"
            "call_command('migrate', verbosity=0)\n"
            f"get_user_model().objects.create_superuser('author', 'a@b.example', {PASSWORD!r})\n"
            f"call_command('import_subscribers', {str(readers)!r}, '--confirmed')\n"
            f"call_command('publish', '--title=Swifts', {f'--text-file={letter}'!r})\n",
        )
        return str(json.loads(done.stdout.strip().splitlines()[-1])["issue"])


def test_workers_and_pages_of_a_release_go_on_while_and_after_its_tables_are_upgraded(
    upgrade: Upgrade, empty_database: str, provider: SandboxServer, tmp_path: Path
) -> None:
    both = TwoReleases(upgrade, empty_database, provider)
    old, new = both.old, both.new
    issue = both.published(tmp_path)

    with (
        running_site(empty_database, provider.url, SETTINGS, code=upgrade.old) as site,
        ExitStack() as stack,
    ):
        author = Browser(site.url)
        author.sign_in("author", PASSWORD)
        provider.sandbox.set_fault("hold", moment="after_accept", calls=3)
        workers = [both.worker(both.old_place) for _ in range(2)]
        for one in workers:
            stack.callback(one.kill)
        # In the middle of sending: a call of each is in the air while the tables change.
        held(provider, 2)
        new.run("migrate", "--noinput")
        new.run("migrate", "--check")
        # And of all the code that there is now each sends, on the new tables.
        workers.append(both.worker(both.new_place))
        stack.callback(workers[-1].kill)
        held(provider, 3)
        provider.sandbox.set_fault("hold", moment="after_accept", calls=3)
        provider.sandbox.gate.release("answer")
        held(provider, 3)
        _pages_of_the_release_answer(author, Browser(site.url), issue)
        _publish_by_form(author)
        provider.sandbox.gate.release("answer")
        # What the pages of the release made goes out too, by whichever worker.
        old.run("deliver", "--until-empty")
        for one in workers:
            assert one.stop() == 0, one.said
            assert "Traceback" not in one.said
    new.run("audit")
    old.run("audit")
    with psycopg.connect(empty_database) as session:
        sent = session.execute("SELECT sum(sent) FROM batch").fetchone()
    # Two issues to every reader, and one letter to whoever signed up meanwhile.
    assert sent == (2 * READERS + 1,)
    copies = provider.sandbox.outbox.copies(lambda size: size > 0)
    assert set(copies.values()) == {1}
    assert len(copies) == 2 * READERS + 1


def _pages_of_the_release_answer(author: Browser, stranger: Browser, issue: str) -> None:
    """Sign-up, the form, the progress of an issue: on tables that are newer than they are."""
    signing_up = stranger.hidden_fields("/")
    answer = stranger.send("/subscriptions/", {**signing_up, "email": "newcomer@example.net"})
    assert answer.status_code in (200, 302, 303), answer
    progress: dict[str, Any] = json.loads(
        answered(author, f"/admin/newsletters/{issue}/progress.json")
    )
    assert progress["audience"] == READERS
    assert progress["state"] == "sending"
    for address in ("/admin/newsletters/issues/", f"/admin/newsletters/{issue}/", "/archive/"):
        answered(author, address)


def _publish_by_form(author: Browser) -> None:
    """Publish an issue from the publishing form of the release."""
    form = author.hidden_fields("/admin/newsletters/")
    answer = author.send(
        "/admin/newsletters/",
        {**form, "title": "Swifts leave", "text_content": "They have gone.", "html_content": ""},
    )
    assert answer.status_code == 303, answer
