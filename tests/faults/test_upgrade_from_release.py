"""Upgrade from every release while the release's workers and pages continue.

The release's code runs from its commit, with today's libraries. Until there is a release, the test
upgrades today's code to the made-up release in tests/faults/next_release/.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from newsletter_site.demo.demo_browser import Browser
from postmark_sandbox.server import SandboxServer
from tests.browser.web_site import running_site
from tests.delivery.homing_installation import Installation
from tests.faults.processes.watched_worker import TIMES, WatchedWorker
from tests.faults.servers.postgres_server import OwnServer
from tests.faults.wait_until import held
from tests.newsletter_site.migrating.releases import Release, releases

ROOT = Path(__file__).resolve().parents[2]
READERS = 120
PASSWORD = "swifts sleep while they fly"
# The last line of a traceback. On a slow machine, a migration may hold a lock for longer than a
# task of the old release waits. The task then fails and is tried again.
RAISED = re.compile(r"^[\w.]*[A-Z][a-z]\w*: (.*)", re.M)
A_LOCK = "canceling statement due to lock timeout"
# Calls are held until a test releases them, because the machine may be slow.
SETTINGS = TIMES | {
    # Use the site's settings, because a release may not contain the settings of the tests.
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
        # A shallow clone does not contain the release. CI clones the whole history.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "This checkout has no history, from which the test takes the release's code. "
            f"Clone the whole repository to run it ({done.stderr.decode().strip()})."
        )
    return done.stdout


@dataclass(frozen=True, slots=True)
class Upgrade:
    """An upgrade from the code in `old` to the code in `ROOT` with `new_settings`."""

    old: Path
    new_settings: str = SETTINGS["DJANGO_SETTINGS_MODULE"]


MADE_UP = "tests.faults.next_release.settings"


@pytest.fixture(
    scope="module",
    params=releases() or [None],
    ids=lambda release: release.name if release else "to a made-up release",
)
def upgrade(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Upgrade:
    """Yield an upgrade from the code of a release, unpacked in a separate folder."""
    release: Release | None = request.param
    if release is None:
        return Upgrade(ROOT, MADE_UP)
    folder = tmp_path_factory.mktemp("release")
    packed = git("archive", release.commit)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    return Upgrade(folder)


@pytest.fixture
def empty_database(server: OwnServer) -> Iterator[str]:
    """Yield the URL of a database without tables."""
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
        """Create the release's tables, an author, readers and an issue; return its id."""
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


def test_workers_and_pages_of_a_release_continue_during_an_upgrade(
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
        # Each worker has a call in flight while the tables change.
        held(provider, 2)
        new.run("migrate", "--noinput")
        new.run("migrate", "--check")
        # Workers of the old and the new code now send with the new tables.
        workers.append(both.worker(both.new_place))
        stack.callback(workers[-1].kill)
        held(provider, 3)
        provider.sandbox.set_fault("hold", moment="after_accept", calls=3)
        provider.sandbox.gate.release("answer")
        held(provider, 3)
        _pages_of_the_release_answer(author, Browser(site.url), issue)
        _publish_by_form(author)
        provider.sandbox.gate.release("answer")
        # Issues that the release's pages published are sent too, by any worker.
        old.run("deliver", "--until-empty")
        for one in workers:
            assert one.stop() == 0, one.output
            assert RAISED.findall(one.output) == [A_LOCK] * one.output.count("Traceback"), (
                one.output
            )
    new.run("audit")
    old.run("audit")
    with psycopg.connect(empty_database) as session:
        sent = session.execute("SELECT sum(sent) FROM batch").fetchone()
    # The first readers got two issues each; the reader who signed up meanwhile got one letter.
    assert sent == (2 * READERS + 1,)
    copies = provider.sandbox.outbox.copies(lambda size: size > 0)
    assert set(copies.values()) == {1}
    assert len(copies) == 2 * READERS + 1


def _pages_of_the_release_answer(author: Browser, stranger: Browser, issue: str) -> None:
    """Check the old release's sign-up, form and progress page on the new tables."""
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
